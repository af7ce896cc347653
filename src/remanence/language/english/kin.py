"""Words for people and animals close to somebody, and the predicate each stands for."""

from __future__ import annotations

from dataclasses import dataclass

from remanence.language.english import lexicon


@dataclass(frozen=True, slots=True)
class Kin:
    """What a word such as "wife" says: its predicate, whether she or he, whether it is over."""

    predicate: str
    gender: str = ""
    over: bool = False


def _kin(said: str) -> Kin:
    predicate, _, gender = said.partition(", ")
    return Kin(predicate, gender)


KIN = {word: _kin(said) for word, said in lexicon.pairs("kin").items()}
KIN_PLURALS = {
    **{word + "s": word for word in KIN},
    "kids": "kid", "children": "child", "babies": "baby", "wives": "wife",
    "grandchildren": "grandchild", "grandkids": "grandkid",
}  # fmt: skip
FORMER = {
    "ex-wife": Kin("married to", "f", True),
    "ex-husband": Kin("married to", "m", True),
    "ex-girlfriend": Kin("dating", "f", True),
    "ex-boyfriend": Kin("dating", "m", True),
    "ex": Kin("dating", "", True),
}
PETS = lexicon.words("pets")
PET_PLURALS = {
    **{word + "s": word for word in PETS},
    "puppies": "puppy", "kitties": "kitty", "bunnies": "bunny", "ponies": "pony",
    "huskies": "husky", "collies": "collie", "fish": "fish", "canaries": "canary",
}  # fmt: skip
OTHERS = lexicon.words("kin_without_predicate")


def kin_of(word: str) -> Kin | None:
    """What a word in the singular says of whose it is."""
    return KIN.get(word) or FORMER.get(word)
