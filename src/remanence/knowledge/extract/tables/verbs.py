"""Forms of the verbs that rules know: which verb a word is, and in which forms."""

from __future__ import annotations

from enum import Flag, auto

from remanence.knowledge.extract.tables.listing import words


class Form(Flag):
    """The forms a word may be: work, works, worked, (have) worked, working."""

    BASE = auto()
    PRESENT = auto()
    PAST = auto()
    PARTICIPLE = auto()
    ING = auto()


_IRREGULAR = """
leave left left leaving, quit quit quit quitting, get got got getting, get got gotten getting,
have had had having, buy bought bought buying, grow grew grown growing, come came come coming,
become became become becoming, begin began begun beginning, go went gone going, speak spoke spoken
speaking, teach taught taught teaching, eat ate eaten eating, drive drove driven driving, sell
sold sold selling, lose lost lost losing, break broke broken breaking, split split split
splitting, take took taken taking, run ran run running, win won won winning, meet met met meeting,
build built built building, write wrote written writing, fly flew flown flying, make made made
making, find found found finding, give gave given giving, lead led led leading, sing sang sung
singing, swim swam swum swimming, ride rode ridden riding, keep kept kept keeping, spend spent
spent spending, stand stood stood standing, bear bore born bearing, lay laid laid laying, learn
learnt learnt learning, learn learned learned learning, dream dreamt dreamt dreaming, dream
dreamed dreamed dreaming, plan planned planned planning, stop stopped stopped stopping, drop
dropped dropped dropping, prefer preferred preferred preferring, do did done doing, see saw seen
seeing, travel travelled travelled travelling, travel traveled traveled traveling, enrol enrolled
enrolled enrolling, hold held held holding, fall fell fallen falling, swap swapped swapped
swapping, train trained trained training, commute commuted commuted commuting, transfer
transferred transferred transferring, wear wore worn wearing, say said said saying, tell told told
telling, think thought thought thinking, know knew known knowing, feel felt felt feeling, hear
heard heard hearing, call called called calling, put put put putting, read read read reading, set
set set setting, cut cut cut cutting, draw drew drawn drawing, beat beat beaten beating, bend bent
bent bending, bite bit bitten biting, blow blew blown blowing, bring brought brought bringing,
burn burnt burnt burning, catch caught caught catching, choose chose chosen choosing, deal dealt
dealt dealing, dig dug dug digging, drink drank drunk drinking, feed fed fed feeding, fight fought
fought fighting, forget forgot forgotten forgetting, freeze froze frozen freezing, hang hung hung
hanging, hide hid hidden hiding, hit hit hit hitting, hurt hurt hurt hurting, lend lent lent
lending, let let let letting, light lit lit lighting, mean meant meant meaning, pay paid paid
paying, ring rang rung ringing, rise rose risen rising, seek sought sought seeking, sew sewed sewn
sewing, shake shook shaken shaking, shoot shot shot shooting, show showed shown showing, shut shut
shut shutting, sit sat sat sitting, sleep slept slept sleeping, slide slid slid sliding, spill
spilt spilt spilling, steal stole stolen stealing, stick stuck stuck sticking, strike struck
struck striking, sweep swept swept sweeping, tear tore torn tearing, throw threw thrown throwing,
wake woke woken waking, weave wove woven weaving, send sent sent sending, understand understood
understood understanding, spoil spoilt spoilt spoiling, bake baked baked baking, step stepped
stepped stepping, chat chatted chatted chatting, rob robbed robbed robbing, fit fitted fitted
fitting, die died died dying, tie tied tied tying, lie lied lied lying, sign signed signed
signing, babysit babysat babysat babysitting, cancel cancelled cancelled cancelling, volunteer
volunteered volunteered volunteering
"""
_REGULAR = """
live reside move relocate settle immigrate emigrate return work join resign start promote hire
fire retire employ serve manage own head intern freelance switch study attend graduate major minor
enroll finish earn complete love like enjoy adore hate dislike detest loathe despise appreciate
adopt purchase rent suffer diagnose prescribe marry engage date divorce separate propose play want
intend aim decide hope wish visit celebrate pass fail publish launch hike climb participate
volunteer perform raise name open land accept turn continue compete organise organize host release
donate injure receive use practise practice collect follow avoid consider need try appoint belong
rename abide treat act help care watch cook paint camp ski surf sail fish dance sprain pack
plant repair fix
order replace inherit share crash call cancel change apply register interview stay end arrive
miss lend trade clean walk jump reach close invite cycle commute train transfer convert qualify
look ask seem remain notice realise realize believe guess agree expect worry matter happen mean
rescue foster breed stream record print deliver present design create produce invent discover
explore report swap name rename reject sponsor win coach mentor tutor lecture nurse babysit
"""


def _regular(base: str) -> tuple[str, str, str, str]:
    if base.endswith("e"):
        return base + "s", base + "d", base + "d", base[:-1] + "ing"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies", base[:-1] + "ied", base[:-1] + "ied", base + "ing"
    plural = "es" if base.endswith(("s", "sh", "ch", "x", "o")) else "s"
    return base + plural, base + "ed", base + "ed", base + "ing"


def _forms() -> dict[str, dict[str, Form]]:
    table: dict[str, dict[str, Form]] = {}
    rows = [line.split() for line in _IRREGULAR.replace("\n", " ").split(",")]
    entries = [(base, _regular(base)[0], *rest) for base, *rest in rows]
    entries += [(base, *_regular(base)) for base in _REGULAR.split()]
    for entry in entries:
        for form, word in zip(Form, entry, strict=True):
            readings = table.setdefault(word, {})
            readings[entry[0]] = readings.get(entry[0], Form(0)) | form
    table["has"] = {"have": Form.PRESENT}
    table.pop("haves", None)
    return table


FORMS = _forms()


def verb(word: str) -> tuple[str, Form] | None:
    """The verb that a word in small letters is a form of, and which forms it may be."""
    readings = FORMS.get(word)
    return next(iter(readings.items())) if readings else None


_NOT_VERBS = words(
    """
    bed red need feed seed shed indeed hundred wicked naked sacred beloved speed breed embed
    interesting boring exciting amazing annoying confusing charming disappointing freezing
    starving willing nothing something everything anything during evening morning king ring
    spring thing string wedding building ceiling sibling darling outstanding challenging
    inspiring tempting touching relaxing fascinating overwhelming exhausting missing being
    depressing stunning
    """
)


def guessed(word: str, form: Form) -> bool:
    """Whether a word that no table knows may be that form of a verb."""
    if word in _NOT_VERBS or not word.replace("-", "").isalpha() or len(word) < 3:
        return False
    if form is Form.ING:
        return len(word) > 4 and word.endswith("ing")
    if form in (Form.PAST, Form.PARTICIPLE):
        return len(word) > 4 and (word.endswith("ed") or "ed-" in word)
    return form is Form.BASE


def base_of(word: str) -> str:
    """The plain form of a verb in the table; other words as they are."""
    known = verb(word)
    return known[0] if known else word
