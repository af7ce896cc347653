"""Question sets read from files: LoCoMo, REALTALK, LongMemEval, BEAM; memories filled with them."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from remanence.api.memory import Memory
from remanence.errors import InvalidInput

CATEGORIES: Mapping[str, Mapping[str, str]] = {
    "locomo": {
        "1": "multi-hop",
        "2": "temporal",
        "3": "open-domain",
        "4": "single-hop",
        "5": "adversarial",
    },
    "realtalk": {"1": "multi-hop", "2": "temporal", "3": "commonsense"},
}
_TURN_ID = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")
_DATE_FORMATS = (
    "%I:%M %p on %d %B, %Y",
    "%Y/%m/%d (%a) %H:%M",
    "%d.%m.%Y, %H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation, with the id the gold answers use."""

    id: str
    session: str
    text: str
    at: datetime
    speaker: str | None = None
    role: str = "user"

    def message(self) -> dict[str, Any]:
        """The turn as `Memory.add_messages` takes it."""
        said = {"role": self.role, "content": self.text, "at": self.at, "id": self.id}
        return said | ({"name": self.speaker} if self.speaker else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question, when it is asked, the turns and sessions that answer it, the answer if known."""

    question: str
    category: str
    now: datetime
    turns: frozenset[str]
    sessions: frozenset[str]
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One memory to fill and the questions to ask of it."""

    dataset: str
    name: str
    turns: tuple[Turn, ...]
    probes: tuple[Probe, ...]


def load_corpora(path: Path) -> Iterator[Corpus]:
    """Every corpus of a file, or of all .json, .jsonl and .gz files of a folder."""
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if re.search(r"\.jsonl?(\.gz)?$", p.name))
        if not files:
            raise InvalidInput(f"There is no .json, .jsonl or .jsonl.gz file in {path}.")
        for file in files:
            yield from load_corpora(file)
        return
    for number, entry in enumerate(_entries(path)):
        yield _corpus(entry, f"{path.name.partition('.')[0]}-{number}", path)


def _entries(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with _opened(path) as file:
            if ".jsonl" in path.name:
                yield from (json.loads(line) for line in file if line.strip())
                return
            data = json.load(file)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as a question set: {error}") from error
    yield from data if isinstance(data, list) else [data]


def _opened(path: Path) -> Any:
    return gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _corpus(entry: Mapping[str, Any], name: str, path: Path) -> Corpus:
    try:
        if "haystack_sessions" in entry:
            return _longmemeval(entry)
        if "qa" in entry:
            return _locomo(entry, name)
        if "questions" in entry and "turns" in entry:
            return _beam(entry)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"{path} holds an entry that cannot be read: {error!r}") from error
    raise InvalidInput(f"{path} holds no LoCoMo, REALTALK, LongMemEval or BEAM entries.")


def _locomo(entry: Mapping[str, Any], name: str) -> Corpus:
    said = entry.get("conversation", entry)
    turns = tuple(_locomo_turns(said))
    known = {turn.id: turn.session for turn in turns}
    last = max(turn.at for turn in turns)
    dataset = "locomo" if "conversation" in entry else "realtalk"
    probes = (_locomo_probe(qa, known, last, CATEGORIES[dataset]) for qa in entry["qa"])
    return Corpus(
        dataset=dataset,
        name=str(entry.get("sample_id", name)),
        turns=turns,
        probes=tuple(probe for probe in probes if probe.turns),
    )


def _locomo_turns(said: Mapping[str, Any]) -> Iterator[Turn]:
    numbers = (re.fullmatch(r"session_(\d+)", key) for key in said)
    for number in sorted(int(found[1]) for found in numbers if found):
        at = _date(said.get(f"session_{number}_date_time"))
        for place, turn in enumerate(said[f"session_{number}"]):
            yield Turn(
                id=str(turn.get("dia_id", f"D{number}:{place + 1}")),
                session=f"D{number}",
                text=_shared(turn),
                at=_date(turn.get("date_time")) if turn.get("date_time") else at,
                speaker=turn.get("speaker"),
            )


def _shared(turn: Mapping[str, Any]) -> str:
    text = str(turn.get("text") or turn.get("clean_text") or "").strip()
    caption = turn.get("blip_caption")
    return f"{text} [photo: {caption}]".strip() if caption else text or "(nothing)"


def _locomo_probe(
    qa: Mapping[str, Any], known: Mapping[str, str], last: datetime, names: Mapping[str, str]
) -> Probe:
    listed = " ".join(map(str, qa.get("evidence") or []))
    gold = {f"D{int(a)}:{int(b)}" for a, b in _TURN_ID.findall(listed)} & known.keys()
    category = str(qa.get("category"))
    return Probe(
        question=str(qa["question"]),
        category=names.get(category, category),
        now=last,
        turns=frozenset(gold),
        sessions=frozenset(known[id] for id in gold),
        answer=str(qa.get("answer") or qa.get("adversarial_answer") or ""),
    )


def _longmemeval(entry: Mapping[str, Any]) -> Corpus:
    turns: list[Turn] = []
    gold: set[str] = set()
    days = zip(
        entry["haystack_session_ids"],
        entry["haystack_dates"],
        entry["haystack_sessions"],
        strict=True,
    )
    for number, (session, date, said) in enumerate(days):
        for place, turn in enumerate(said):
            id = f"{number}:{place}"
            turns.append(
                Turn(
                    id=id,
                    session=str(session),
                    text=str(turn["content"]).strip() or "(nothing)",
                    at=_date(date),
                    role=turn["role"],
                )
            )
            if turn.get("has_answer"):
                gold.add(id)
    answered = not str(entry["question_id"]).endswith("_abs") and bool(gold)
    probe = Probe(
        question=entry["question"],
        category=entry["question_type"],
        now=_date(entry["question_date"]),
        turns=frozenset(gold),
        sessions=frozenset(map(str, entry["answer_session_ids"])),
        answer=str(entry.get("answer", "")),
    )
    return Corpus(
        dataset="longmemeval",
        name=str(entry["question_id"]),
        turns=tuple(turns),
        probes=(probe,) if answered else (),
    )


def _beam(entry: Mapping[str, Any]) -> Corpus:
    turns: list[Turn] = []
    for said in entry["turns"]:
        turns.append(
            Turn(
                id=str(said["id"]),
                session=str(said["session"]),
                text=str(said["content"]).strip() or "(nothing)",
                at=_date(said["at"]) if said.get("at") else turns[-1].at,
                role=said["role"],
            )
        )
    known = {turn.id: turn.session for turn in turns}
    last = max(turn.at for turn in turns)
    probes = (_beam_probe(asked, known, last) for asked in entry["questions"])
    return Corpus(
        dataset="beam",
        name=str(entry["id"]),
        turns=tuple(turns),
        probes=tuple(probe for probe in probes if probe.turns),
    )


def _beam_probe(asked: Mapping[str, Any], known: Mapping[str, str], last: datetime) -> Probe:
    gold = set(map(str, asked["evidence"])) & known.keys()
    return Probe(
        question=str(asked["question"]),
        category=str(asked["category"]).replace("_", "-"),
        now=last,
        turns=frozenset(gold),
        sessions=frozenset(known[id] for id in gold),
    )


def _date(text: Any) -> datetime:
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(str(text).strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise InvalidInput(f"The date {text!r} is in no form that is known here.")


@contextmanager
def filled(corpus: Corpus, folder: Path, **settings: Any) -> Iterator[Memory]:
    """A memory that holds the corpus under one user; filled on first use, then reopened.

    Each corpus has a file of its own in the folder, or on a `database` given a tenant of its own.
    """
    name = name_of(corpus)
    if settings.get("database"):
        settings["tenant"] = name
    else:
        folder.mkdir(parents=True, exist_ok=True)
        settings["database"] = folder / f"{name}.db"
    with Memory(**settings) as memory:
        if memory.count(user_id=corpus.name) < len(corpus.turns):
            memory.forget(user_id=corpus.name, erase=True)
            _fill(memory, corpus)
        yield memory


def name_of(corpus: Corpus) -> str:
    """What the file of a corpus is called: another one for other turns."""
    return f"{corpus.dataset}-{_digest(corpus)}"


def _fill(memory: Memory, corpus: Corpus) -> None:
    for session, turns in groupby(corpus.turns, key=lambda turn: turn.session):
        messages = [turn.message() for turn in turns]
        memory.add_messages(messages, user_id=corpus.name, session_id=session)


def _digest(corpus: Corpus) -> str:
    said = "\n".join(f"{turn.id} {turn.session} {turn.text}" for turn in corpus.turns)
    return hashlib.blake2b(f"{corpus.name} {said}".encode(), digest_size=8).hexdigest()
