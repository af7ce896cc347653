"""Undo and redo against the simplest model there is: a list of versions and a finger on one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.layers.blocks.documents import REDO, UNDO, EditStep, UndoPlace, place


class Finger:
    """The model: versions in a line, 0 first; the finger is on the one that is shown."""

    def __init__(self) -> None:
        self.line = [0]
        self.at = 0

    def edit(self, version: int) -> None:
        self.line = [*self.line[: self.at + 1], version]
        self.at += 1

    def move(self, by: int) -> int | None:
        if not 0 <= self.at + by < len(self.line):
            return None
        self.at += by
        return self.line[self.at]

    def place(self) -> UndoPlace:
        before = self.line[self.at - 1] if self.at else None
        after = self.line[self.at + 1] if self.at + 1 < len(self.line) else None
        return UndoPlace(before, after)


@given(st.lists(st.sampled_from(["append", "delete", "restore", UNDO, UNDO, REDO]), max_size=60))
def test_undo_and_redo_move_along_the_line_and_an_edit_cuts_it(verbs: list[str]) -> None:
    steps: list[EditStep] = []
    model = Finger()
    for verb in verbs:
        version = len(steps) + 1
        here = place(steps)
        if verb not in (UNDO, REDO):
            model.edit(version)
            steps.append(EditStep(version, verb, None))
            continue
        target = here.undo if verb == UNDO else here.redo
        assert target == model.move(-1 if verb == UNDO else 1)
        if target is not None:
            steps.append(EditStep(version, verb, target))
        assert place(steps) == model.place()


@pytest.mark.slow
@given(st.integers(1, 20), st.integers(0, 20))
def test_n_undos_and_as_many_redos_come_back(edits: int, undos: int) -> None:
    steps = [EditStep(n, "append", None) for n in range(1, edits + 1)]
    start = place(steps)
    moved = 0
    for _ in range(undos):
        target = place(steps).undo
        if target is None:
            break
        steps.append(EditStep(len(steps) + 1, UNDO, target))
        moved += 1
    assert moved == min(edits, undos)
    for _ in range(moved):
        target = place(steps).redo
        assert target is not None
        steps.append(EditStep(len(steps) + 1, REDO, target))
    assert place(steps) == start


def test_nothing_was_done_so_nothing_can_be_undone() -> None:
    assert place([]) == UndoPlace(None, None)


def test_the_first_edit_can_be_undone_to_nothing() -> None:
    assert place([EditStep(1, "append", None)]) == UndoPlace(0, None)
    assert place([EditStep(1, "append", None), EditStep(2, UNDO, 0)]) == UndoPlace(None, 1)
