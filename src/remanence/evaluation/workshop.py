"""Memories filled with a corpus, kept on disk so that a second run starts at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from remanence.evaluation.datasets import Corpus
from remanence.memory import Memory


@contextmanager
def filled(corpus: Corpus, folder: Path, **settings: Any) -> Iterator[Memory]:
    """A memory that holds the corpus under one user; filled on first use, then reopened.

    Each corpus has a file of its own in the folder, or on a `database` given a tenant of its own.
    """
    name = f"{corpus.dataset}-{_digest(corpus)}"
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


def _fill(memory: Memory, corpus: Corpus) -> None:
    for session, turns in groupby(corpus.turns, key=lambda turn: turn.session):
        messages = [turn.message() for turn in turns]
        memory.add_messages(messages, user_id=corpus.name, session_id=session)


def _digest(corpus: Corpus) -> str:
    said = "\n".join(f"{turn.id} {turn.session} {turn.text}" for turn in corpus.turns)
    return hashlib.blake2b(f"{corpus.name} {said}".encode(), digest_size=8).hexdigest()
