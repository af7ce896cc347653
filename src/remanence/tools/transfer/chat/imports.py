"""Reading chat histories in: chunk by chunk, each whole or not at all, safe to run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from remanence.api.memory import Memory
from remanence.errors import InvalidInput, StoreBusy
from remanence.layers.conversation.window import Descriptions
from remanence.memories.messages import Message
from remanence.model.clock import SystemClock
from remanence.model.filter import Compare
from remanence.model.progress import Progress
from remanence.model.scope import Reach, Scope, check_name
from remanence.tools.transfer.chat.files import JsonStream, ReadableFile, Values, parts_of
from remanence.tools.transfer.chat.formats import Loose, chatgpt_talk, claude_talk, own_talk
from remanence.tools.transfer.chat.talks import ChatImported, Format, Reason, Skipped, Talk, Tally
from remanence.tools.transfer.lines import FORMAT

TOGETHER = 1_000  # messages that stand by themselves are read so many at a time

CHUNK = 64
CHUNK_CHARACTERS = 500_000
PIPED = "chat"  # the name of what has none


def describe(memory: Memory, talk: Talk, scope: Scope) -> None:
    """Keep title and metadata, unless the conversation is described already."""
    if talk.id is None or not (talk.title or talk.metadata):
        return
    known = Descriptions(memory.parts.store.documents, memory.tenant, SystemClock())
    if not known.of([(talk.id, scope.user_id)]):
        known.put(talk.id, scope.user_id, scope.agent_id, talk.title, talk.metadata or None)


def format_of(value: Mapping[str, Any]) -> Format | None:
    """Whose conversation it is, by the field that holds its messages."""
    if "mapping" in value:
        return Format.CHATGPT
    if "chat_messages" in value:
        return Format.CLAUDE
    return Format.REMANENCE if "messages" in value or _is_message(value) else None


class TalkReader:
    """Makes conversations of the values of one file; `name` stands for it as a source."""

    def __init__(self, format: Format, name: str, max_text: int) -> None:
        self._format = format
        self._loose = Loose(Path(name).stem or name, name, max_text)
        self._read: Mapping[Format, Callable[[Mapping[str, Any]], Talk]] = {
            Format.CHATGPT: lambda value: chatgpt_talk(value, max_text),
            Format.CLAUDE: lambda value: claude_talk(value, max_text),
            Format.REMANENCE: lambda value: own_talk(value, name, max_text),
        }

    def talks(self, values: Iterable[Any]) -> Iterator[Talk]:
        """Every conversation; a value that is none is told as skipped."""
        loose: list[Mapping[str, Any]] = []
        for value in values:
            if self._takes(Format.REMANENCE) and _is_message(value):
                loose.append(value)
            else:
                yield self._talk(value)
            if len(loose) >= TOGETHER:
                yield self._loose.talk(loose)
                loose = []
        if loose:
            yield self._loose.talk(loose)

    def _talk(self, value: Any) -> Talk:
        if isinstance(value, Mapping):
            _check_not_ours(value)
            found = format_of(value)
            if found is not None and self._takes(found):
                return self._read[found](value)
        return Talk(id=None, source=None, skipped=(Skipped(Reason.UNKNOWN),))

    def _takes(self, format: Format) -> bool:
        return self._format in (Format.AUTO, format)


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value and "content" in value


def _check_not_ours(value: Mapping[str, Any]) -> None:
    if value.get("type") == FORMAT:
        raise InvalidInput("`rem export` made this file; read it with `rem import FILE`.")


def import_chat(
    memory: Memory,
    source: str | Path | ReadableFile,
    *,
    format: str = Format.AUTO,
    user_id: str | None = None,
    agent_id: str | None = None,
    summarise: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    clean: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> ChatImported:
    """Read the conversations of a file, a zip or a stream in as messages of sessions.

    A conversation's id becomes the session, a message's id its `external_id`. A message that the
    session has already, in whatever state, is passed over: run it again after an interruption, or
    with a newer export. `InvalidInput` where the file is not what it should be; what came before
    stays. With `summarise`, what does not fit a conversation's window is summarised. Progress is in
    hundredths of the file. `clean` takes out of messages and descriptions what is not to be kept.
    """
    scope = Scope(tenant=memory.tenant, user_id=user_id, agent_id=agent_id)
    run = _Importing(memory, scope, _format(format), summarise, dry_run, progress, clean or dict)
    with _importing_alone(memory, scope), _parts(source) as (name, parts):
        return run.run(name, parts)


def _format(name: str) -> Format:
    try:
        return Format(name)
    except ValueError:
        known = ", ".join(Format)
        raise InvalidInput(f"Unknown format {str(name)[:40]!r}; known: {known}.") from None


@contextmanager
def _parts(source: str | Path | ReadableFile) -> Iterator[tuple[str, Iterator[JsonStream]]]:
    if not isinstance(source, str | Path):
        yield PIPED, iter([JsonStream(source)])
        return
    path = Path(source)
    with parts_of(path) as parts:
        yield _name(path), parts


def _name(path: Path) -> str:
    """The file's name, if it can be kept."""
    try:
        check_name("name", path.name)
    except InvalidInput:
        return PIPED
    return path.name


@contextmanager
def _importing_alone(memory: Memory, scope: Scope) -> Iterator[None]:
    """Two imports at once would each add what the other adds."""
    with memory.parts.store.upkeep.alone(f"chat import {scope.tenant}") as granted:
        if not granted:
            raise StoreBusy("Another import of chats is running; wait for its end.")
        yield


@dataclass(frozen=True, slots=True)
class _Importing:
    """One import, and what it has done so far."""

    memory: Memory
    scope: Scope
    format: Format
    summarise: bool
    dry_run: bool
    progress: Progress | None
    clean: Callable[[dict[str, Any]], dict[str, Any]]
    tally: Tally = field(default_factory=Tally)

    def run(self, name: str, parts: Iterator[JsonStream]) -> ChatImported:
        """Read all parts."""
        reader = TalkReader(self.format, name, self.memory.settings.max_text)
        for part in parts:
            values = Values(part.stream)
            for talk in reader.talks(values):
                self._take(talk)
                self._report(values.read, part.size)
        self.tally.check_any()
        return self.tally.report(self.dry_run)

    def _take(self, talk: Talk) -> None:
        self.tally.skip(talk.skipped)
        if talk.id is None:
            return
        self.tally.seen += 1
        added = sum(self._add(talk, chunk) for chunk in chunks(talk.messages))
        self.tally.conversations += added > 0
        if talk.messages and not self.dry_run:
            told = self.clean({"title": talk.title, "metadata": talk.metadata})
            describe(self.memory, replace(talk, **told), self.scope)
            if self.summarise:
                made = self.memory.conversations.summarise(talk.id, user_id=self.scope.user_id)
                self.tally.summaries += len(made)

    def _add(self, talk: Talk, chunk: Sequence[Message]) -> int:
        """How many of these messages are new; they are written together."""
        present = self._present(talk, [one.id for one in chunk if one.id is not None])
        new = [one for one in chunk if one.id not in present]
        self.tally.present += len(chunk) - len(new)
        self.tally.messages += len(new)
        if new and not self.dry_run:
            self.memory.add_messages(
                [self.clean(asdict(one)) for one in new],
                user_id=self.scope.user_id,
                agent_id=self.scope.agent_id,
                session_id=talk.id,
                source=talk.source,
            )
        return len(new)

    def _present(self, talk: Talk, ids: Sequence[str]) -> set[str | None]:
        """Those of the ids that the session has a memory of, in any state and by any agent."""
        reach = Reach(tenant=self.scope.tenant, user_id=self.scope.user_id, session_id=talk.id)
        where = Compare("external_id", "in", tuple(ids), field=True)
        return {one.external_id for one in self.memory.parts.store.archive.walk(reach, where)}

    def _report(self, read: int, size: int) -> None:
        if self.progress:
            self.progress(100 * read // size if size else 0, 100 if size else 0)


def chunks(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Messages that are written together: not too many, and not too long."""
    held: list[Message] = []
    characters = 0
    for one in messages:
        held.append(one)
        characters += len(one.content)
        if len(held) >= CHUNK or characters >= CHUNK_CHARACTERS:
            yield held
            held, characters = [], 0
    if held:
        yield held
