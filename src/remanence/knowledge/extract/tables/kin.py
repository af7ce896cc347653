"""Words for people and animals close to somebody, and the predicate each stands for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kin:
    """What a word such as "wife" says: its predicate, whether she or he, whether it is over."""

    predicate: str
    gender: str = ""
    over: bool = False


_TABLE = """
married to  f wife | m husband hubby | x spouse
engaged to  f fiancée fiancee | m fiancé fiance
dating      f girlfriend gf | m boyfriend bf | x partner
mother      f mother mom mum mommy mummy mama momma ma
father      m father dad daddy papa pa
sister      f sister sis stepsister half-sister
brother     m brother bro stepbrother half-brother
son         m son stepson
daughter    f daughter stepdaughter
child       x child kid baby toddler stepkid
aunt        f aunt auntie aunty
uncle       m uncle
cousin      x cousin
niece       f niece
nephew      m nephew
grandmother f grandmother grandma granny nana nan gran nonna oma abuela
grandfather m grandfather grandpa granddad grandad nonno opa abuelo
grandchild  m grandson | f granddaughter | x grandchild grandkid
friend      x friend buddy pal mate bestie bff
colleague   x colleague coworker co-worker workmate teammate
neighbour   x neighbour neighbor
boss        x boss manager supervisor line-manager
teacher     x teacher professor tutor instructor
"""

_PLURALS = {
    "kids": "kid", "children": "child", "babies": "baby", "wives": "wife",
    "grandchildren": "grandchild", "grandkids": "grandkid",
}  # fmt: skip
_PETS = """
dog puppy pup cat kitten kitty rabbit bunny hamster parrot horse pony turtle tortoise goldfish
fish guinea-pig gecko snake lizard ferret bird budgie canary chicken goat donkey
"""
_BREEDS = """
labrador lab retriever poodle beagle terrier bulldog husky corgi dachshund spaniel collie shepherd
pug chihuahua rottweiler tabby siamese persian ragdoll mutt greyhound dalmatian goldendoodle
"""
_HOUSEHOLD = "roommate flatmate housemate classmate mentor coach stepmother stepfather"
_RELATED = """
mother-in-law father-in-law sister-in-law brother-in-law son-in-law daughter-in-law stepmom
stepdad godmother godfather landlord landlady
"""


def _kin() -> dict[str, Kin]:
    table: dict[str, Kin] = {}
    for line in _TABLE.strip().splitlines():
        predicate, words = line[:12].strip(), line[12:].split("|")
        for group in words:
            gender, *names = group.split()
            sex = gender[-1] if gender[-1] in "fm" else ""
            table.update((name, Kin(predicate, sex)) for name in names)
    return table


KIN = _kin()
KIN_PLURALS = {
    **{word + "s": word for word in KIN},
    **{plural: word for plural, word in _PLURALS.items() if word in KIN},
}
FORMER = {
    "ex-wife": Kin("married to", "f", True),
    "ex-husband": Kin("married to", "m", True),
    "ex-girlfriend": Kin("dating", "f", True),
    "ex-boyfriend": Kin("dating", "m", True),
    "ex": Kin("dating", "", True),
}
PETS = frozenset([*_PETS.split(), *_BREEDS.split()])
PET_PLURALS = {
    **{word + "s": word for word in PETS},
    "puppies": "puppy", "kitties": "kitty", "bunnies": "bunny", "ponies": "pony",
    "huskies": "husky", "collies": "collie", "fish": "fish", "canaries": "canary",
}  # fmt: skip
OTHERS = frozenset([*_HOUSEHOLD.split(), *_RELATED.split()])


def kin_of(word: str) -> Kin | None:
    """What a word in the singular says of whose it is."""
    return KIN.get(word) or FORMER.get(word)
