"""Reading chat histories in: chunk by chunk, each whole or not at all, safe to run again.

What is here already is known by the ids of the export, not by idempotency keys: a key would
also bar what was erased since from ever being imported again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput, StoreBusy
from remanence.memory import Memory
from remanence.model.filter import Compare
from remanence.model.scope import Reach, Scope, check_name
from remanence.ports.store import Progress
from remanence.remember.messages import Message
from remanence.transfer.chat.describing import describe
from remanence.transfer.chat.files import Part, Readable, parts_of
from remanence.transfer.chat.reading import TalkReader
from remanence.transfer.chat.report import ChatImported, Tally
from remanence.transfer.chat.talks import Format, Talk
from remanence.transfer.chat.values import Values

CHUNK = 64
CHUNK_CHARACTERS = 500_000
PIPED = "chat"  # the name of what has none


def import_chat(
    memory: Memory,
    source: str | Path | Readable,
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
def _parts(source: str | Path | Readable) -> Iterator[tuple[str, Iterator[Part]]]:
    if not isinstance(source, str | Path):
        yield PIPED, iter([Part(source)])
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
    with memory.parts.store.alone(f"chat import {scope.tenant}") as granted:
        if not granted:
            raise StoreBusy("Another import of chats is running; wait for its end.")
        yield


class _Importing:
    """The state of one import."""

    def __init__(
        self,
        memory: Memory,
        scope: Scope,
        format: Format,
        summarise: bool,
        dry_run: bool,
        progress: Progress | None,
        clean: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._clean = clean
        self._memory = memory
        self._scope = scope
        self._format = format
        self._summarise = summarise
        self._dry_run = dry_run
        self._progress = progress
        self._tally = Tally()

    def run(self, name: str, parts: Iterator[Part]) -> ChatImported:
        """Read all parts."""
        reader = TalkReader(self._format, name, self._memory.settings.max_text)
        for part in parts:
            values = Values(part.stream)
            for talk in reader.talks(values):
                self._take(talk)
                self._report(values.read, part.size)
        self._tally.check_any()
        return self._tally.report(self._dry_run)

    def _take(self, talk: Talk) -> None:
        self._tally.skip(talk.skipped)
        if talk.id is None:
            return
        self._tally.seen += 1
        added = sum(self._add(talk, chunk) for chunk in chunks(talk.messages))
        self._tally.conversations += added > 0
        if talk.messages and not self._dry_run:
            told = self._clean({"title": talk.title, "metadata": talk.metadata})
            describe(self._memory, replace(talk, **told), self._scope)
            if self._summarise:
                made = self._memory.conversations.summarise(talk.id, user_id=self._scope.user_id)
                self._tally.summaries += len(made)

    def _add(self, talk: Talk, chunk: Sequence[Message]) -> int:
        """How many of these messages are new; they are written together."""
        present = self._present(talk, [one.id for one in chunk if one.id is not None])
        new = [one for one in chunk if one.id not in present]
        self._tally.present += len(chunk) - len(new)
        self._tally.messages += len(new)
        if new and not self._dry_run:
            self._memory.add_messages(
                [self._clean(_given(one)) for one in new],
                user_id=self._scope.user_id,
                agent_id=self._scope.agent_id,
                session_id=talk.id,
                source=talk.source,
            )
        return len(new)

    def _present(self, talk: Talk, ids: Sequence[str]) -> set[str | None]:
        """Those of the ids that the session has a memory of, in any state and by any agent."""
        reach = Reach(tenant=self._scope.tenant, user_id=self._scope.user_id, session_id=talk.id)
        where = Compare("external_id", "in", tuple(ids), field=True)
        return {one.external_id for one in self._memory.parts.store.walk(reach, where)}

    def _report(self, read: int, size: int) -> None:
        if self._progress:
            self._progress(100 * read // size if size else 0, 100 if size else 0)


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


def _given(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "at": message.at,
        "id": message.id,
        "metadata": message.metadata,
    }
