"""The vectors of words come out of their file as they went in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from remanence.backends.embedding.word_table import WordTable, quantise_rows, save_words
from remanence.errors import ModelInvalid

TABLE = np.random.default_rng(5).standard_normal((40, 24)).astype(np.float32)
NUMBERS = np.array([[3, 0, 39, 3], [0, 1, 2, 39]])


def test_floats_come_back_as_they_are(tmp_path: Path) -> None:
    save_words(tmp_path / "words.npy", TABLE, quantised=False)
    assert np.array_equal(WordTable(tmp_path / "words.npy").vectors(NUMBERS), TABLE[NUMBERS])


def test_bytes_come_back_as_steps_times_codes(tmp_path: Path) -> None:
    save_words(tmp_path / "words.npy", TABLE, quantised=True)
    codes, steps = quantise_rows(TABLE)
    restored = codes.astype(np.float32) * steps
    found = WordTable(tmp_path / "words.npy").vectors(NUMBERS)
    assert np.array_equal(found, restored[NUMBERS])
    assert np.abs(found - TABLE[NUMBERS]).max() <= steps.max() / 2 + 1e-6


def test_a_word_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    save_words(tmp_path / "words.npy", TABLE, quantised=True)
    with pytest.raises(ModelInvalid, match=r"words\.npy"):
        WordTable(tmp_path / "words.npy").vectors(np.array([[40]]))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x93NUMPY\x01\x00\xff\xff"])
def test_another_file_is_no_table(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "words.npy").write_bytes(content)
    with pytest.raises(ModelInvalid, match=r"words\.npy"):
        WordTable(tmp_path / "words.npy")
    with pytest.raises(ModelInvalid, match=r"none\.npy"):
        WordTable(tmp_path / "none.npy")
