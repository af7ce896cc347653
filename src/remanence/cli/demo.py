"""`rem demo`: a small conversation remembered, and a few questions asked of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from remanence.cli.common import OutputForm, guarded
from remanence.cli.terminal import note, say

if TYPE_CHECKING:
    from remanence.api.memory import Memory
    from remanence.model.hit import Hits

USER = "demo"
ASSISTANT = "Ada"
HITS = 2
SIGNALS = 4
FACTS = 5
NEXT = (
    '{rem} add "Ana moved to Lisbon" -u ana',
    '{rem} search "where does Ana live?" -u ana --explain',
    "{rem} --help for all commands; docs/reference.md for all verbs",
)


def demo() -> None:
    """Remember a sample conversation in a temporary database, and ask it questions."""
    from tempfile import TemporaryDirectory

    with guarded(OutputForm.HUMAN), TemporaryDirectory(prefix="remanence-demo-") as folder:
        _play(_sample(), Path(folder) / "demo.db")


def _sample() -> Mapping[str, Any]:
    text = Path(__file__).with_name("sample_conversation.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def _play(sample: Mapping[str, Any], path: Path) -> None:
    from remanence.api.memory import Memory

    with Memory(path) as memory:
        _remember(memory, sample)
        for question in sample["questions"]:
            started = time.perf_counter()
            now = datetime.fromisoformat(sample["now"])
            hits = memory.search(question, user_id=USER, limit=HITS, now=now)
            _show_answer(question, hits, time.perf_counter() - started)
        for name in sample["known"]:
            _show_facts(memory, name)
    _show_next(hits.degraded)


def _remember(memory: Memory, sample: Mapping[str, Any]) -> None:
    started = time.perf_counter()
    turns = remember_sample(memory)
    took = time.perf_counter() - started
    count = len(sample["sessions"])
    say(f"Remembered {turns} turns of {count} conversations in {took:.1f} s: no key, no LLM.")
    say(f"Today is {sample['now'][:10]}. Five questions:")


def remember_sample(memory: Memory) -> int:
    """Remember the sample conversations; how many turns they have."""
    turns = 0
    for session in _sample()["sessions"]:
        messages = list(_messages(session))
        memory.add_messages(messages, user_id=USER, session_id=session["id"])
        turns += len(messages)
    return turns


def _messages(session: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name, content in session["turns"]:
        role = "assistant" if name == ASSISTANT else "user"
        yield {"role": role, "name": name, "content": content, "at": session["at"]}


def _show_answer(question: str, hits: Hits, took: float) -> None:
    from remanence.cli.screens import strip, told_of

    say("")
    say((question, "bold"), (f"  {took * 1000:.0f} ms", "dim"))
    say(f"   understood: {told_of(hits.understood)}", style="dim")
    for rank, hit in enumerate(hits, 1):
        when, who = f"{hit.memory.happened_at:%Y-%m-%d}", hit.memory.speaker or ""
        said = ((f"{rank}  ", "cyan"), (f"{when}  ", "green"), (f"{who}: ", "bold"))
        say(*said, hit.passage)
        if rank == 1:
            say("   ", strip(hit.signals, SIGNALS))


def _show_facts(memory: Memory, name: str) -> None:
    say("")
    say(f"What is known of {name}:", style="bold")
    for fact in memory.facts.about(name, user_id=USER, limit=FACTS):
        when = f"  {fact.when}" if fact.when else ""
        say(f"   {fact.text}", (when, "green"))


def _show_next(degraded: tuple[str, ...]) -> None:
    if degraded:
        missing = "; ".join(one.rstrip(".") for one in degraded)
        note(f"\nWithout {missing}: words alone had to do; `rem doctor` says why.")
    say("\nTry next:", style="bold")
    for line in NEXT:
        say(f"  {line.format(rem=_rem())}")


def _rem() -> str:
    """The command as it can be typed here."""
    script = Path(sys.executable).with_name("rem")
    if which("rem"):
        return "rem"
    here = Path.cwd()
    return str(script.relative_to(here) if script.is_relative_to(here) else script)
