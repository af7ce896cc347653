"""The tables of English: each is read by somebody, holds nothing twice, and says its order."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import remanence
from remanence.language.english import lexicon

PACKAGE = Path(remanence.__file__).parent
TABLES = sorted(Path(lexicon.__file__).parent.glob("*.txt"))
READERS = ("words", "either", "pairs", "canonical", "entries")
MOST_IN_CODE = 20  # words of one list beside the rule that asks for them
NO_WORDS = ("by_model.py", "rule.py")  # prompts; the names of predicates


def calls(path: Path) -> list[ast.Call]:
    """The calls of the lexicon's functions in a file."""
    return [
        node
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func) in {f"lexicon.{reader}" for reader in READERS}
    ]


def read_tables() -> set[str]:
    """The names of the tables that the package reads."""
    found = (call for path in PACKAGE.rglob("*.py") for call in calls(path))
    return {ast.literal_eval(name) for call in found for name in call.args}


def paragraphs(text: str) -> list[list[str]]:
    """The entries of a table, parted where a line is empty."""
    return [
        [line for line in part.splitlines() if not line.startswith("#")]
        for part in text.strip().split("\n\n")
    ]


def long_lists(path: Path) -> list[str]:
    """Where a file has a list of more words than a rule has beside it."""
    nodes = ast.walk(ast.parse(path.read_bytes()))
    return [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for node in nodes
        if isinstance(node, ast.expr) and len(_words_of(node)) > MOST_IN_CODE
    ]


def _words_of(node: ast.expr) -> list[str]:
    """The words of a literal made of words alone; what has other marks is a sentence."""
    match node:
        case ast.Constant(value=str(text)):
            words = text.split()
            plain = all(word.replace("-", "").replace("'", "").isalpha() for word in words)
            return words if plain else []
        case ast.List(elts=elements) | ast.Set(elts=elements) | ast.Tuple(elts=elements):
            parts = [_words_of(one) for one in elements]
            return [word for part in parts for word in part] if all(parts) else []
    return []


def test_every_table_is_read_and_every_one_that_is_read_is_there() -> None:
    assert read_tables() == {path.stem for path in TABLES}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_says_what_it_is_and_holds_nothing_twice(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert text.endswith("\n")
    held = Counter(lexicon.entries(path.stem))
    assert held
    assert [entry for entry, times in held.items() if times > 1 or entry != entry.strip()] == []
    keys = Counter(key for entry in held if (key := entry.rpartition(" = ")[0]))
    assert [key for key, times in keys.items() if times > 1] == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_is_sorted_or_says_why_not(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "In this order" not in " ".join(text.replace("# ", "").split("\n")):
        assert [part for part in paragraphs(text) if part != sorted(part)] == []


@pytest.mark.parametrize("table", ["same", "persons"])
def test_a_word_stands_for_one_thing(table: str) -> None:
    words = Counter(
        word for entry in lexicon.entries(table) for word in entry.split() if word != "="
    )
    assert [word for word, times in words.items() if times > 1] == []


def test_long_lists_stand_in_no_code() -> None:
    files = (path for path in (PACKAGE / "language").rglob("*.py") if path.name not in NO_WORDS)
    assert [place for path in files for place in long_lists(path)] == []
