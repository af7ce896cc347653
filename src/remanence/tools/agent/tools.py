"""The memory's tools for a model: schemas, one dispatcher to call them by, what they tell."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from remanence.backends.llm.answers import mended
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.language import words
from remanence.language.fences import Fence, fenced, low_trust, without_fenced
from remanence.memories.messages import OF_MEMORY
from remanence.model.block import Block
from remanence.model.memory import Kind, MemoryRecord
from remanence.model.query import MAX_QUERY
from remanence.tools.agent.declarations import (
    ToolDeclaration,
    ToolParameter,
    WrongCall,
    declaration_of,
    shown,
)

if TYPE_CHECKING:
    from remanence.api.memory import Memory

SOURCE = "agent"
# Below a user's own 1.0: a model mishears, and a text it read may have told it what to write.
TRUST = 0.7
USUAL_RESULTS, MOST_RESULTS, MOST_PAGES = 5, 20, 50
ARCHIVAL = tuple(kind for kind in Kind if kind is not Kind.MESSAGE)
LOOK_ALIKES = 10
# What tools told a model, and how it called memory's own, is not worth telling it again.
SPOKEN = {"and": [{"field.role": {"ne": "tool"}}, {OF_MEMORY: {"exists": False}}]}

Label = Annotated[str, ToolParameter("the block's label, as it stands in core memory")]
NewLine = Annotated[str, ToolParameter("the line to add")]
OldText = Annotated[str, ToolParameter("the passage as it stands, letter by letter")]
NewText = Annotated[str, ToolParameter("what stands there instead; may be empty")]
Inserted = Annotated[str, ToolParameter("the line to insert")]
Place = Annotated[
    int, ToolParameter("the line to insert it before, counted from 0; -1 is the end", -1, 1_000_000)
]
Whole = Annotated[str, ToolParameter("all that the block shall hold")]
Statement = Annotated[str, ToolParameter("the statement to remember")]
Importance = Annotated[float | None, ToolParameter("0 (trivial) to 1 (vital)", 0, 1)]
Query = Annotated[str, ToolParameter("what to look for, in plain words or as a question")]
_LIMIT = f"results per page, 1 to {MOST_RESULTS}; {USUAL_RESULTS} if left out"
Limit = Annotated[int, ToolParameter(_LIMIT, 1, MOST_RESULTS)]
Page = Annotated[int, ToolParameter("which page of results; 1 if left out", 1, MOST_PAGES)]
First = Annotated[str, ToolParameter("first day, like 2026-05-01, or a date and time")]
Last = Annotated[str, ToolParameter("last day (it is included), or a date and time")]


class MemoryTools:
    """The self-editing tools, bound to one user, agent and session: a model can name no other.

    Make one per conversation and call `refresh` whenever a prompt is made, so that a block which
    somebody else changed meanwhile is not rewritten unseen. A user's tools only read the blocks of
    no user, which all users see, unless `edit_shared`; without a user, those are the agent's own.
    Searches tell nothing that answers less probably than `min_confidence`.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        edit_shared: bool = False,
        author: str = SOURCE,
        min_trust: float | None = None,
        min_confidence: float | None = None,
    ) -> None:
        self._memory = memory
        self._min_confidence = min_confidence
        self._min_trust = memory.settings.min_trust if min_trust is None else min_trust
        self._scope: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        self._session_id = session_id
        self._edit_shared = edit_shared
        self._author = author
        self._visible: frozenset[str] = frozenset()
        self._recalled: set[str] = set()
        self._versions: dict[str, int] = {}
        self.refresh()

    def refresh(self, *, visible: Iterable[str] = (), recalled: Iterable[str] = ()) -> None:
        """Note what the prompt shows now: the blocks as they are, messages by id, memories' texts.

        What is visible is not found again; what was recalled is not stored again.
        """
        blocks = self._memory.blocks.list(**self._scope)
        self._versions = {block.label: block.version for block in blocks}
        self._visible = frozenset(visible)
        self._recalled = {normalised(text) for text in recalled}

    @property
    def labels(self) -> tuple[str, ...]:
        """The blocks there are, as of the last `refresh`."""
        return tuple(self._versions)

    # -- schemas

    def openai(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """The tools as OpenAI's chat API takes them, and all that speak it.

        With `strict`, in the form of its structured outputs: what may be left out is null instead.
        """
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.about,
                    "parameters": tool.schema(strict=strict),
                }
                | ({"strict": True} if strict else {}),
            }
            for tool in TOOLS
        ]

    def anthropic(self) -> list[dict[str, Any]]:
        """The tools as Anthropic's messages API takes them."""
        return [
            {"name": tool.name, "description": tool.about, "input_schema": tool.schema()}
            for tool in TOOLS
        ]

    # -- calls

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Do what a model asks and tell it how it went. What the model got wrong is never raised.

        A store that fails is: that is not for the model to mend.
        """
        return self.attempt(name, arguments)[0]

    def attempt(self, name: str, arguments: str | Mapping[str, Any]) -> tuple[str, bool]:
        """What `call` tells, and whether it was done."""
        tool = BY_NAME.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(BY_NAME)
            return f"Error: there is no tool {shown(name)}; there are {known}.", False
        run: Callable[..., str] = getattr(self, f"_{tool.name}")
        try:
            return run(**tool.read(arguments)), True
        except (WrongCall, InvalidInput, NotFound, Conflict) as error:
            return mended(f"Error: {error}"), False

    # -- core memory

    def _core_memory_append(self, label: Label, content: NewLine) -> str:
        """Add a line at the end of a core memory block. Core memory is always before you; keep in
        it what matters in every conversation."""
        by = self._editing(label)
        return self._edited(self._memory.blocks.append(label, content, **by))

    def _core_memory_replace(self, label: Label, old_content: OldText, new_content: NewText) -> str:
        """Replace a passage of a core memory block, e.g. to correct it. The passage must occur
        exactly once; with an empty new_content it is removed."""
        by = self._editing(label)
        return self._edited(self._memory.blocks.replace(label, old_content, new_content, **by))

    def _core_memory_insert(self, label: Label, content: Inserted, line: Place) -> str:
        """Insert a line into a core memory block at a place of your choice."""
        by = self._editing(label)
        return self._edited(self._memory.blocks.insert(label, content, line=line, **by))

    def _core_memory_rethink(self, label: Label, content: Whole) -> str:
        """Rewrite a whole core memory block: reorganise it, or shorten it when it is full."""
        by = self._editing(label)
        seen = self._versions.get(label, 0)
        try:
            made = self._memory.blocks.rethink(label, content, version=seen, **by)
        except Conflict:
            now = self._memory.blocks.get(label, **self._scope)
            self._versions[label] = now.version
            raise WrongCall(
                f"somebody else changed it since you saw it, and nothing was written. "
                f"{told_block(now)}\nWrite it again so that nothing of this is lost."
            ) from None
        return self._edited(made)

    def _edited(self, block: Block) -> str:
        self._versions[block.label] = block.version
        return f"Done. {told_block(block)}"

    def _editing(self, label: str) -> dict[str, Any]:
        """Whose block it is, who edits it and why; refused in words for a model if not its own."""
        try:
            block = self._memory.blocks.get(label, **self._scope)
        except NotFound:
            labels = [each.label for each in self._memory.blocks.list(**self._scope)]
            known = ", ".join(labels)
            raise WrongCall(f"there is no block {label!r}; there are {known}.") from None
        if block.read_only:
            raise WrongCall(f"the block {label!r} is read-only; you cannot change it.")
        shared = block.user_id is None and self._scope["user_id"] is not None
        if shared and not self._edit_shared:
            raise WrongCall(f"the block {label!r} is shared by all users; you cannot change it.")
        whose = {"user_id": block.user_id, "agent_id": block.agent_id}
        return {**whose, "author": self._author, "reason": self._session_id}

    # -- archival memory

    def _archival_memory_insert(self, content: Statement, importance: Importance = None) -> str:
        """Remember a fact for good, outside core memory. Write one self-contained statement with
        names and dates; do not store what was already found in memory."""
        text = without_fenced(content).strip()
        if not text or self._is_remembered(text):
            return "Already remembered; nothing was added."
        self._memory.add(
            text,
            **self._scope,
            kind=Kind.SEMANTIC,
            importance=importance,
            source=SOURCE,
            actor=self._author,
            origin=self._session_id,
            trust=TRUST,
        )
        return "Remembered."

    def _archival_memory_search(
        self, query: Query, limit: Limit = USUAL_RESULTS, page: Page = 1
    ) -> str:
        """Search long-term memory: facts, events and summaries, not the messages themselves."""
        return self._searched(query, ARCHIVAL, limit, page)

    def _is_remembered(self, text: str) -> bool:
        wanted = normalised(text)
        if any(is_echo(wanted, known) for known in self._recalled):
            return True
        asked = text[:MAX_QUERY]
        # What somebody else planted keeps nothing from being remembered.
        hits = self._memory.search(asked, limit=LOOK_ALIKES, min_trust=TRUST, **self._scope)
        return any(wanted in _forms(hit.memory) for hit in hits)

    # -- conversations

    def _conversation_search(
        self, query: Query, limit: Limit = USUAL_RESULTS, page: Page = 1
    ) -> str:
        """Search the messages of past conversations with this user."""
        return self._searched(query, (Kind.MESSAGE,), limit, page)

    def _conversation_search_date(
        self, start_date: First, end_date: Last, limit: Limit = USUAL_RESULTS, page: Page = 1
    ) -> str:
        """List the messages of past conversations between two dates, oldest first."""
        since, until = _moment("start_date", start_date), _moment("end_date", end_date, last=True)
        if until <= since:
            raise WrongCall("end_date lies before start_date; swap them.")
        found = self._memory.find(
            kinds=Kind.MESSAGE,
            filters={"and": [*SPOKEN["and"], {"field.trust": {"gte": self._min_trust}}]},
            since=since,
            until=until,
            limit=limit + 1,
            offset=limit * (page - 1),
            newest_first=False,
            **self._scope,
        )
        return self._told([(record, record.text) for record in found], limit, page)

    def _searched(self, query: str, kinds: tuple[Kind, ...], limit: int, page: int) -> str:
        wanted = limit * page + 1 + len(self._visible)
        hits = self._memory.search(
            query,
            kinds=kinds,
            filters=SPOKEN,
            limit=wanted,
            min_trust=self._min_trust,
            min_confidence=self._min_confidence,
            **self._scope,
        )
        found = [(hit.memory, hit.passage) for hit in hits if hit.memory.id not in self._visible]
        return self._told(found[limit * (page - 1) :], limit, page)

    def _told(self, found: list[tuple[MemoryRecord, str]], limit: int, page: int) -> str:
        self._recalled.update(*(_forms(record) for record, _ in found[:limit]))
        return told_memories(found[:limit], page, more=len(found) > limit)


TOOLS: tuple[ToolDeclaration, ...] = tuple(
    declaration_of(method)
    for name, method in vars(MemoryTools).items()
    if name.startswith(("_core_memory", "_archival_memory", "_conversation"))
)
BY_NAME: Mapping[str, ToolDeclaration] = {tool.name: tool for tool in TOOLS}


def _forms(record: MemoryRecord) -> set[str]:
    """A memory's text as it is, and as a line tells it: with who said it or where it is from."""
    return {normalised(record.text), normalised(told_line(record, record.text))}


def _moment(what: str, text: str, *, last: bool = False) -> datetime:
    """A date or a date and time; a bare last day counts to its end, and no zone means UTC."""
    try:
        read = datetime.fromisoformat(text.strip())
        whole_day = last and len(text.strip()) <= len("2026-05-01")
        read = read if read.tzinfo else read.replace(tzinfo=UTC)
        return read + timedelta(days=1) if whole_day else read
    except (ValueError, OverflowError):
        raise WrongCall(
            f"{what} must be a date like 2026-05-01 or 2026-05-01T18:30; got {text[:40]!r}."
        ) from None


MOST_CHARACTERS = 1_000  # of one result; the best passage of a memory is shorter
MOST_OF_A_NAME = 80
NOTHING = "Nothing found."

_BRACKETS = re.compile(r"[\[\]()]")

MINUS = "\u2212"
# What our lists write before a memory: a bullet, a date. Who spoke is part of the line told.
_STAMP = re.compile(r"^\s*(?:[-*•~]\s|\d+\.\s)?\s*(?:\[\d{4}-\d\d-\d\d[^\]]{0,40}\]\s*)?")
# Signs that change what a word means, as in C++, C#, -5, 3.5 or 5%; alone or at an end, a full
# stop and a dash are only punctuation.
_SIGNS = frozenset("+-#.%/")
_LOOSE = re.compile(r"\.(?!\w)|(?<![\w+#-])[+#-]+(?![\w+#-])")


def told_block(block: Block) -> str:
    """A block as it stands now."""
    head = f"The block {block.label!r} holds {block.characters:,} of {block.limit:,} characters now"
    return f"{head}:\n{fenced(Fence.CORE, block.value)}"


def told_memories(found: Sequence[tuple[MemoryRecord, str]], page: int, more: bool) -> str:
    """Memories with the passage of each that matters, a line each; and whether there are more."""
    if not found:
        return NOTHING if page == 1 else f"Nothing more: page {page} is empty."
    lines = fenced(Fence.MEMORIES, "\n".join(told_line(record, text) for record, text in found))
    return f"{lines}\nThere is more on page {page + 1}." if more else lines


def told_line(record: MemoryRecord, text: str) -> str:
    """One memory in a line."""
    shown = " ".join(text.split())
    if len(shown) > MOST_CHARACTERS:
        shown = f"{shown[:MOST_CHARACTERS]}…"
    mark = low_trust(record.trust, record.role)
    when = f"{record.happened_at.astimezone(UTC):%Y-%m-%d %H:%M}"
    if record.kind is Kind.MESSAGE:
        name = _flat(record.speaker or record.role or "").replace(":", "")
        return f"{mark}[{when}] {name or 'somebody'}: {shown}"
    source = f" (source: {_flat(record.source)})" if record.source else ""
    return f"{mark}[{when}] {shown}{source}"


def _flat(name: str) -> str:
    """A name that can begin no line of its own and close no bracket of ours."""
    return " ".join(_BRACKETS.sub(" ", name).split())[:MOST_OF_A_NAME]


def normalised(text: str) -> str:
    """The words and what belongs to them, in one case and form, so that spelling hides no echo."""
    plain = words.normalised("NFKC", _STAMP.sub("", text)).casefold()
    spaced = plain.translate({ord(sign): _plain(sign) for sign in set(plain)})
    return " ".join(_LOOSE.sub(" ", spaced).split())


def is_echo(text: str, known: str) -> bool:
    """Whether a normalised text says nothing beyond a known one: it is that, or wholly in it."""
    return bool(text) and f" {text} " in f" {known} "


def _plain(sign: str) -> str:
    """A character as it counts: letters, digits, marks and most symbols do, punctuation hardly."""
    category = unicodedata.category(sign)
    if category == "Pd" or sign == MINUS:
        return "-"
    if sign in _SIGNS or category[0] in "LNM" or category in ("Sm", "Sc", "So"):
        return sign
    return "" if category == "Cf" else " "
