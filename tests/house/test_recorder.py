"""The recorder counts functions of ours, once each, on every thread, up to where it is told."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from .recorder import Hops, Recorder, recording

STEPS = """
import asyncio
import threading

def goal(): ...

def walk():
    hop()
    hop()
    goal()
    hop()
    skip()

def hop(): ...
def skip(): ...

def counting():
    yield 1
    yield 2

def with_pauses():
    return [n for n in counting()]

async def hands_over():
    await asyncio.sleep(0)
    hop()
    await rests()
    await asyncio.to_thread(walk)

async def rests():
    await asyncio.sleep(0)

async def waits():
    await asyncio.sleep(0)
    hop()

def elsewhere():
    thread = threading.Thread(target=hop)
    thread.start()
    thread.join()

def held(inside, go):
    inside.set()
    go.wait(60)
"""


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"steps_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(STEPS)
    return importlib.import_module(name)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with recording(tmp_path) as heard:
        yield heard


def test_a_function_counts_once_and_its_calls_each(recorder: Recorder, steps: ModuleType) -> None:
    assert recorder.hops(steps.walk) == Hops(functions=4, modules=1, calls=6)


def test_a_path_ends_before_what_it_leads_to(recorder: Recorder, steps: ModuleType) -> None:
    told = recorder.hops(steps.walk, until=steps.goal)
    assert told == Hops(functions=2, modules=1, calls=3, depth=1)


def test_who_waits_on_another_thread_is_under_way(recorder: Recorder, steps: ModuleType) -> None:
    told = recorder.hops(lambda: steps.asyncio.run(steps.hands_over()), until=steps.goal)
    assert told == Hops(functions=4, modules=1, calls=6, depth=2)


def test_a_path_that_leads_nowhere_is_refused(recorder: Recorder, steps: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="goal was never entered"):
        recorder.hops(steps.hop, until=steps.goal)


def test_going_on_after_a_pause_is_no_call(recorder: Recorder, steps: ModuleType) -> None:
    assert recorder.hops(steps.with_pauses) == Hops(functions=2, modules=1, calls=2)


def test_neither_is_it_in_a_coroutine(recorder: Recorder, steps: ModuleType) -> None:
    told = recorder.hops(lambda: steps.asyncio.run(steps.waits()))
    assert told == Hops(functions=2, modules=1, calls=2)


def test_other_threads_count(recorder: Recorder, steps: ModuleType) -> None:
    assert recorder.hops(steps.elsewhere) == Hops(functions=2, modules=1, calls=2)


def test_other_peoples_functions_do_not(steps: ModuleType, tmp_path: Path) -> None:
    with recording(tmp_path / "elsewhere") as recorder:
        assert recorder.hops(steps.walk) == Hops(functions=0, modules=0, calls=0)


def test_it_settles_when_the_last_function_is_left(recorder: Recorder, steps: ModuleType) -> None:
    inside, go, over = threading.Event(), threading.Event(), threading.Event()
    held = threading.Thread(target=steps.held, args=(inside, go))
    held.start()
    inside.wait(60)

    def settle() -> None:
        recorder.settle()
        over.set()

    settled = threading.Thread(target=settle)
    settled.start()
    assert not over.wait(0.05)
    go.set()
    assert over.wait(60)
    held.join()
    settled.join()
