"""No text costs more than in proportion to its length: every text function, on ugly texts."""

from __future__ import annotations

import gc
import importlib
import inspect
import pkgutil
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import RemanenceError
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.extraction.subjects import People
from remanence.language.redaction import redactor
from remanence.language.summary import Said, summarise
from remanence.language.words import word_spans
from remanence.layers.blocks.templates import render
from remanence.model.block import Block
from remanence.recall.question import Question
from support.soak import times

pytestmark = [pytest.mark.slow, pytest.mark.soak]

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
PACKAGES = [
    *("language", "knowledge", "layers.blocks", "layers.conversation", "context", "recall"),
    *("consolidation", "memories", "tools.transfer.chat", "tools.agent"),
    *("server.proxy", "server.mcp", "backends.llm.answers", "backends.embedding.onnx"),
    *("store.words", "model.validation"),
]
# A training sees what is stored, as often as it is told to; what looks for secrets sees all of it.
TRAINING, SECRETS = "remanence.consolidation.learning.", "lora.exclusions"
# What a text is made of: over and over the same, between an opening and an end.
SHAPES: Mapping[str, tuple[str, str, str]] = {
    "capital letters": ("", "I ", "z"),
    "names": ("", "Ana Silva ", ""),
    "titles": ("", "Dr. Mrs. Ana ", ""),
    "one word": ("", "x", ""),
    "shouted": ("", "ANA", ""),
    "brackets": ("", "([{", ""),
    "quotes": ("", "\"'“‘", ""),
    "digits": ("", "7", ""),
    "numbers": ("", "1,000.", ""),
    "slashes": ("", "1/2/3/", ""),
    "dates": ("", "3 May 2021, ", ""),
    "years": ("", "in 2021 ", ""),
    "dots": ("", ".", ""),
    "commas": ("", "tea, ", ""),
    "blanks": ("a.", " ", "z"),
    "marks": ("a", "\u0301\u0323", ""),
    "lines": ("", "a\n", ""),
    "empty lines": ("a", "\n", "b"),
    "and": ("", "and ", ""),
    "at": ("", "at ", ""),
    "where I live": ("", "I live in ", "Lisbon"),
    "whose": ("", "my wife ", ""),
    "of whom": ("", "with a ", "friend"),
    "belonging": ("", "Ana's ", ""),
    "joined": ("", "a-b'", ""),
    "said by": ("", "said Ana, ", ""),
    "questions": ("", "what ", "?"),
    "code": ("", "```\n", ""),
    "thoughts": ("", "<think>", ""),
    "thoughts ended": ("", "</think>", ""),
    "tags": ("", "<memory>", ""),
    "templates": ("", "{{ a }}{% ", ""),
    "addresses": ("", "://a", ""),
    "mail": ("", "a@b.", ""),
    "escapes": ("", '\\"{', ""),
    "emoji": ("", "👩\u200d👩🇵🇹", ""),
    "chinese": ("", "我住在里斯本", ""),
    "right to left": ("", "שלום أنا ", ""),
    "underscores": ("", "_", ""),
    "halves": ("", "\udc00", ""),
    "german": ("", "wo sind die Häuser ", "?"),
    "elisions": ("où est ", "dell'eau qu'", "il"),
}
# The arguments beside the text, by their annotation.
GIVEN: Mapping[str, Callable[[str], Any]] = {
    "datetime": lambda _: NOW,
    "datetime | None": lambda _: NOW,
    "bool": lambda _: False,
    "int": lambda _: 3,
    "float": lambda _: 0.5,
    "object": lambda _: "Ana",
    "str | None": lambda _: "Ana",
    "Counter[str]": lambda _: Counter(),
    "Set[str]": lambda _: frozenset({"ana"}),
    "Collection[str]": lambda _: frozenset({"ana"}),
    "Iterable[Sequence[str]]": lambda _: [("ana", "silva")],
    "Mapping[str, Any]": lambda _: {},
    "NamedEntity": lambda _: NamedEntity("Ana", "person"),
    "Sequence[NamedEntity]": lambda _: (),
    "People": lambda _: People(NamedEntity("Ana", "person"), ()),
    "Sequence[Span]": word_spans,
    "list[tuple[int, int]]": word_spans,
    "re.Pattern[str]": lambda _: re.compile("a"),
    "Form": lambda _: "NFKC",
    "Fence": lambda _: "memory",
}
# A text under these names is short, or it is none.
_NO_TEXTS = """
id ids user_id agent_id session_id tenant label kind tool path key form state origin what request_id
precision profile name speaker leader start verb table tables
"""
SHORT = frozenset(_NO_TEXTS.split())
# What takes no text from outside, or whose text is bounded before it comes.
_DOORS = "through the doors below"
_BOUNDED = "a sentence of 600 characters at most, through language.english.extraction.reading.read"
OTHERWISE: Mapping[str, str] = {
    "language.english.extraction.rule.rule": "the words of a rule, not of a text",
    "language.english.extraction.rule.each": "the words of a rule, not of a text",
    "language.english.extraction.areas.by_the_way": _BOUNDED,
    "language.english.extraction.times.is_name": _BOUNDED,
    "language.english.extraction.worth.cues": _BOUNDED,
    "language.english.extraction.worth.is_kept": _BOUNDED,
    "language.english.extraction.worth.worth": _BOUNDED,
    "knowledge.graph.export.exported": "the name of a format",
    "knowledge.graph.paths.paths": "ids of entities",
    "layers.conversation.summaries.abstract": "asks a model; what it asks is cut before",
    "layers.conversation.derivation.drafted": _DOORS,
    "layers.conversation.derivation.told": _DOORS,
    "layers.conversation.summaries.telling": _DOORS,
    "memories.lineage.check_cut": "ids of memories",
    "consolidation.summaries.statements.statements": "telling_words of each memory",
    "consolidation.summaries.derivation.reworded": "asks a model; what it asks is cut before",
    "consolidation.merges.judgement.asked": "asks a model; what it asks is cut before",
    "consolidation.merges.judgement.deeds_for": "a reason of ours",
    "consolidation.steps.changed": "a reason of ours",
    "consolidation.steps.linked": "ids of memories",
    "consolidation.schedules.claims.jitter_of": "names of a store and a tenant",
    "tools.transfer.chat.imports.import_chat": "transfer.chat.talks.message of each message",
    "server.mcp.server.text_at": "an address",
    "tools.agent.thread.chat_messages": "puts texts one after the other",
    "tools.agent.tools.told_line": "cut to a thousand characters",
}
FROM, MOST, ENOUGH_S = 2_000, times(1_000_000, 64_000), 0.0015
AT_DOORS = times(100_000, 12_000)
DOORS = times(1, 3)  # every so many of the shapes
GROWTH, BEST_OF, ATTEMPTS, LARGER = 2.5, 3, 5, (1, 2)


@cache
def shaped(name: str, length: int) -> str:
    opening, unit, end = SHAPES[name]
    body = length - len(opening) - len(end)
    return opening + (unit * (body // len(unit) + 1))[:body] + end


def taken(act: Callable[[str], Any], text: str) -> float:
    """The processor time of this thread; refusing a text is an answer too."""
    began = time.thread_time()
    with suppress(RemanenceError, ValueError, UnicodeError):
        found = act(text)
        if isinstance(found, Iterator):
            for _ in found:
                pass
    return time.thread_time() - began


def grows_too_fast(act: Callable[[str], Any], shape: str, most: int, start: int = FROM) -> str:
    """By how much a text of this shape costs more when it is twice as long; empty if it is fine.

    Lengths go up until there is something to measure; what costs nothing at the largest is fine.
    What looks too steep must do so at each of `LARGER` lengths.
    """
    length, before, now = start, 0.0, taken(act, shaped(shape, start))
    while now < ENOUGH_S and length < most:
        length, before, now = length * 2, now, taken(act, shaped(shape, length * 2))
    if now < ENOUGH_S or (before and now <= GROWTH * 0.8 * before):
        return ""
    found = ""
    for larger in LARGER:
        found = steep(act, shape, length * larger)
        if not found:
            break
    return found


def steep(act: Callable[[str], Any], shape: str, length: int) -> str:
    """The costs of a text and of one twice as long if they are too far apart at every attempt.

    A busy machine, a step of the allocator or the collector of garbage disturbs some of them.
    """
    costs: list[float] = []
    with _without_collector():
        for _ in range(ATTEMPTS):
            costs = [
                min(taken(act, shaped(shape, one)) for _ in range(BEST_OF))
                for one in (length, length * 2)
            ]
            if costs[1] <= GROWTH * costs[0]:
                return ""
    once, twice = costs
    return f"{shape!r}: {once * 1e3:.1f} ms, {twice * 1e3:.1f} ms for {length * 2} characters"


@contextmanager
def _without_collector() -> Iterator[None]:
    """It goes through all objects of the process, whoever made them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function of the packages, by its name."""
    for name in PACKAGES:
        package = importlib.import_module(f"remanence.{name}")
        inside = getattr(package, "__path__", [])
        found = pkgutil.walk_packages(inside, f"{package.__name__}.")
        for module in [package.__name__, *(one.name for one in found)]:
            if module.startswith(TRAINING) and not module.endswith(SECRETS):
                continue
            for public, function in vars(importlib.import_module(module)).items():
                own = inspect.unwrap(function) if callable(function) else None
                if inspect.isfunction(own) and own.__module__ == module and public[0] != "_":
                    yield f"{module.removeprefix('remanence.')}.{public}", function


def textual(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments that are texts."""
    given = inspect.signature(function).parameters.values()
    return [p.name for p in given if p.annotation == "str" and p.name not in SHORT]


def acts(function: Callable[..., Any]) -> Iterator[Callable[[str], Any]]:
    """The function with the text in the place of each of its texts, and of all of them."""
    texts = textual(function)
    for long in {(name,) for name in texts} | {tuple(texts)}:
        yield partial(_called, function, long)


def _called(function: Callable[..., Any], long: tuple[str, ...], text: str) -> Any:
    args, named = list[Any](), dict[str, Any]()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in long:
            value: Any = text
        elif parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            continue
        else:
            value = "Ana" if parameter.annotation == "str" else GIVEN[parameter.annotation](text)
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            args.append(value)
    return function(*args, **named)


def callable_here(function: Callable[..., Any]) -> bool:
    return all(
        p.default is not p.empty
        or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        or p.annotation in GIVEN
        or p.annotation == "str"
        for p in inspect.signature(function).parameters.values()
    )


# The rules of extraction see a sentence of 600 characters at most, without rows of blanks; the
# entrance is measured with whole texts, and so is what cuts them. A name has 256 characters.
INSIDE = "language.english.extraction."
ENTRANCES = ("reading.", "sentences.", "name_types.")
NAMES = "knowledge.graph.likeness."


def is_bounded(name: str) -> bool:
    if name.startswith(INSIDE):
        return not name.removeprefix(INSIDE).startswith(ENTRANCES)
    return name.startswith(NAMES)


ACTS = {
    f"{name} {number}" if number else name: act
    for name, function in public()
    if textual(function) and callable_here(function) and not is_bounded(name)
    for number, act in enumerate(acts(function))
}


def _block(text: str) -> Block:
    return Block(label="human", value=text, limit=10_000_000, version=1)


def _asked(text: str) -> None:
    asked = Question(text, NOW)
    told = (asked.terms, asked.period, asked.wants_time, asked.wants_several, asked.wants_name)
    spoken = asked.in_voice_of(["Ana Silva", "Tom"])
    for start in range(0, len(text), max(len(text) // 100, 1)):
        spoken.worth((start, start + 1), {}, 1.0)
    assert told


def _turned(text: str) -> None:
    turns = [Said("Ana", part, NOW) for part in (text[: len(text) // 2], text[len(text) // 2 :])]
    summarise(turns, 1_000)


# What needs more than a text and figures.
ACTS |= {
    "a question": _asked,
    "a summary": _turned,
    "a block": lambda text: render([_block(text)], None),
    "a template": lambda text: render([_block("tea")], text),
    "redaction of everything": redactor("all"),
}


def _for_each_part(text: str) -> None:
    """Costs the square of the length."""
    for _ in range(0, len(text), 20):
        text.count("no such thing")


class _Disturbed:
    """Costs what the length does, but every so often much more, as on a busy machine."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, text: str) -> None:
        self._calls += 1
        long = len(text) > 50_000 and self._calls % 25 < 20
        for _ in range(40 if long else 10):
            text.casefold().split()


def test_what_grows_with_the_square_is_found() -> None:
    found = grows_too_fast(_for_each_part, "one word", MOST)
    assert found.startswith("'one word': ")


def test_what_is_only_disturbed_is_not() -> None:
    assert grows_too_fast(_Disturbed(), "commas", MOST) == ""


def test_every_text_function_is_measured_or_said_why_not() -> None:
    """One that is new and needs arguments of another kind: add them to GIVEN, or it to ACTS."""
    found = {name: function for name, function in public() if textual(function)}
    missed = {name for name, function in found.items() if not callable_here(function)}
    assert missed == OTHERWISE.keys()
    assert len(found) > 100


@pytest.mark.parametrize("name", ACTS)
def test_a_text_twice_as_long_costs_at_most_so_much_more(name: str) -> None:
    found = [grows_too_fast(ACTS[name], shape, MOST) for shape in SHAPES]
    assert [one for one in found if one] == []


def _doors(memory: Memory) -> Mapping[str, Callable[[str], Any]]:
    """Ways for a text from outside. What embeds does so on other threads, piece by piece."""
    kept = memory.add("Ana works at Acme.").id
    return {
        "add": memory.add,
        "update": lambda text: memory.update(kept, text=text),
        "search": memory.search,
        "context": memory.context,
        "fact": lambda text: memory.facts.add("Ana", "lives in", "Lisbon", text=text),
        "block": lambda text: _appended(memory, text),
    }


def _appended(memory: Memory, text: str) -> None:
    memory.blocks.delete("human")
    memory.blocks.append("human", text)


@pytest.mark.parametrize("door", ["add", "update", "search", "context", "fact", "block"])
def test_a_text_twice_as_long_costs_a_memory_at_most_so_much_more(
    door: str, tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "no" / "model")  # embedding costs far more than all the rest
    with Memory(tmp_path / "memory.db", embedder=nowhere, core_blocks="human=1000000") as memory:
        act = _doors(memory)[door]
        found = [grows_too_fast(act, shape, AT_DOORS, AT_DOORS) for shape in [*SHAPES][::DOORS]]
    assert [one for one in found if one] == []
