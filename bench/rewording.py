"""Redundant memories: sentences by templates with their paraphrases, and turns said again."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

_WORDS = {
    "n": """Ana Ben Carla Dmitri Elena Farid Greta Hugo Ines Jonas Kira Luis Mona Nils Olga Pablo
    Quinn Rosa Sven Tilda Umar Vera Walter Xenia Yusuf Zoe""",
    "f": """Abel Brandt Costa Duarte Ekman Ferro Gruber Holm Ivanov Jansen Keller Lund Moreau
    Novak Ortiz Petrov Quist Ricci Sauer Toth Urban Vidal Weiss Yilmaz Zeman""",
    "p": """Lisbon Oslo Turin Ghent Bilbao Krakow Graz Lyon Aarhus Bergen Porto Malmo Sofia Tartu
    Nantes Cadiz Split Basel Leeds Ulm Brno Kosice Trento""",
    "o": "car lamp desk guitar camera tent piano kayak bicycle sofa",
    "c": "red green yellow black white",
    "s": "hiking chess swimming rowing fencing climbing sailing judo tennis yoga",
}
_SLOTS = {slot: words.split() for slot, words in _WORDS.items()}
_NUMBERS = (("two", "2"), ("three", "3"), ("four", "4"), ("seven", "7"), ("twelve", "12"))

# Ways to say one thing, the first of them the original, then a question that it answers. The last
# of each says it in words that rules do not take for the same, and so do some of the others.
_TEMPLATES = (
    (
        "{n} bought a {c} {o} in {p}.",
        "{n} purchased a {c} {o} in {p}.",
        "In {p} {n} bought a {c} {o}.",
        "{n} actually bought a {c} {o} in {p}!",
        "A {c} {o} was what {n} took home from {p}.",
        "What did {n} buy in {p}?",
    ),
    (
        "{n} has {w} cousins who live in {p}.",
        "{n} has {d} cousins who live in {p}.",
        "{n} has {w} cousins who reside in {p}",
        "Well, {n} has {d} cousins who live in {p}.",
        "There are {w} people in {p} whom {n} calls cousins.",
        "How many cousins of {n} live in {p}?",
    ),
    (
        "{n} doesn't like {s} in {p} because it is too expensive.",
        "{n} does not like {s} in {p} because it is too expensive.",
        "{n} does not really like {s} in {p} because it's too expensive.",
        "honestly, {n} doesn't enjoy {s} in {p} because it is too expensive",
        "The price keeps {n} away from {s} when in {p}.",
        "Why does {n} not like {s} in {p}?",
    ),
    (
        "{n} goes to a {s} class in {p} every week.",
        "{n} goes to a {s} class in {p} weekly.",
        "Every week {n} goes to a {s} class in {p}.",
        "{n} goes to a {s} class in {p} once a week!",
        "Each seven days you find {n} at {s} lessons in {p}.",
        "What class does {n} go to in {p}?",
    ),
    (
        "{n} will move to {p} to study {s}.",
        "{n} is going to move to {p} to study {s}.",
        "{n} will relocate to {p} to study {s}.",
        "{n}'ll move to {p} to study {s}",
        "{p} is where {n} wants to learn all about {s}.",
        "What will {n} study in {p}?",
    ),
    (
        "My colleague {n} loves {s} and has {w} medals from {p}.",
        "my colleague {n} adores {s} and has {d} medals from {p}",
        "My coworker {n} loves {s} and has {w} medals from {p}.",
        "My colleague {n} just loves {s} and has got {d} medals from {p}.",
        "{w} medals from {p} show how fond {n} is of {s}.",
        "How many medals from {p} does {n} have?",
    ),
)


@dataclass(frozen=True, slots=True)
class Group:
    """One thing said in several ways, the original first, and what to ask for it."""

    texts: tuple[str, ...]
    question: str


def written(count: int, copies: int, rng: random.Random) -> Iterator[Group]:
    """So many different things; nine copies of ten are in words that rules may follow.

    Of a person each template tells one thing at most. Were it two, in Lisbon and then in Oslo, the
    later would be news and not a copy: merging keeps what was said before and after it apart.
    """
    combined = list(product(_TEMPLATES, _SLOTS["n"], _SLOTS["f"]))
    rng.shuffle(combined)
    for template, name, family in combined[:count]:
        word, digits = rng.choice(_NUMBERS)
        slots = {slot: rng.choice(words) for slot, words in _SLOTS.items()}
        slots |= {"n": f"{name} {family}", "w": word, "d": digits}
        said = [text.format(**slots) for text in template]
        near = [said[0], said[1], said[2], said[3]]
        chosen = [said[4] if rng.random() < 0.1 else rng.choice(near) for _ in range(copies)]
        yield Group((said[0], *chosen), said[5])


_LONG = (
    ("I'm", "I am"), ("don't", "do not"), ("can't", "can not"), ("I've", "I have"),
    ("it's", "it is"), ("didn't", "did not"), ("we're", "we are"), ("I'll", "I will"),
    ("isn't", "is not"), ("that's", "that is"), ("they're", "they are"),
)  # fmt: skip
_OTHER = (
    ("bought", "purchased"), ("started", "began"), ("kids", "children"), ("movie", "film"),
    ("often", "frequently"), ("mom", "mother"), ("big", "large"), ("picture", "photo"),
    ("finished", "completed"), ("store", "shop"), ("dad", "father"), ("hard", "difficult"),
)  # fmt: skip
_FILLERS = ("Honestly, ", "Well, ", "Actually, ", "Oh, ", "Yeah, ")
_PREFACES = ("As I told you the other day, ", "Did I mention this? ", "Short version: ")


def reworded(text: str, rng: random.Random) -> tuple[str, str]:
    """A turn said again, and how: as it was, retyped, filled, spelled out, in other words."""
    how = rng.choices(
        ("same", "retyped", "filler", "spelled out", "synonym", "preface"),
        (30, 20, 15, 15, 10, 10),
    )[0]
    if how == "retyped":
        return re.sub(r"[!.,]+", "", text).lower(), how
    if how == "filler":
        return rng.choice(_FILLERS) + text, how
    if how == "preface":
        return rng.choice(_PREFACES) + text, how
    pairs = {"spelled out": _LONG, "synonym": _OTHER}.get(how, ())
    again = text
    for short, long in pairs:
        again = re.sub(rf"\b{short}\b", long, again)
    return again, how if again != text or how == "same" else "same"
