"""Texts that are no conversation, for the term that keeps the tuned model near the plain one.

    python bench/encoder_general.py FOLDER ... --tokenizer FILE --out general.npz

Every FOLDER is searched for HTML pages (free documentation in several languages will do, such as
Debian's); the docstrings of Python's own library come besides. Paragraphs of 6 to 90 words are
kept.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sysconfig
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

MOST = 126
FIRST, LAST = 101, 102
BLOCKS = {"p", "li", "dd", "dt", "h1", "h2", "h3", "h4", "td", "pre"}


class Paragraphs(HTMLParser):
    """The text of each block of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in BLOCKS:
            self._end()

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS:
            self._end()

    def handle_data(self, data: str) -> None:
        self._open.append(data)

    def _end(self) -> None:
        self.found.append(" ".join("".join(self._open).split()))
        self._open.clear()


def pages(folder: Path) -> Iterator[str]:
    for file in sorted(folder.rglob("*.html")):
        reader = Paragraphs()
        reader.feed(file.read_text(encoding="utf-8", errors="ignore"))
        yield from reader.found


def docstrings() -> Iterator[str]:
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                yield from (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))


def main() -> None:
    from tokenizers import Tokenizer

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--most", type=int, default=4_000, help="of each folder")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    tokenizer, rng = Tokenizer.from_file(str(given.tokenizer)), random.Random(0)
    tokenizer.no_padding()
    kept: set[str] = set()
    for source in (docstrings(), *map(pages, given.folders)):
        texts = sorted({text for text in source if 6 <= len(text.split()) <= 90} - kept)
        kept.update(rng.sample(texts, min(len(texts), given.most)))
    rows = [tokenizer.encode(t, add_special_tokens=False).ids[:MOST] for t in sorted(kept)]
    ids = [[FIRST, *row, LAST] for row in rows]
    flat = np.array([n for row in ids for n in row], np.uint16)
    ends = np.cumsum([len(row) for row in ids]).astype(np.int32)
    worth = np.zeros(len(flat), np.float16)
    arrays = {"general.ids": flat, "general.worth": worth, "general.ends": ends}
    np.savez_compressed(given.out, **arrays)
    print(f"{len(kept)} texts, {given.out.stat().st_size / 2**20:.1f} MB")


if __name__ == "__main__":
    main()
