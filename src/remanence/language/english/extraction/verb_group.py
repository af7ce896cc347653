"""The verb of a clause with its helpers: which verb, when, whether denied or only supposed."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from enum import StrEnum

from remanence.language.english import lexicon
from remanence.language.english.verbs import Form, guessed, verb


class Tense(StrEnum):
    """When the verb says it is: now, once, once and up to now, to come, or "used to"."""

    PRESENT = "present"
    PAST = "past"
    PERFECT = "perfect"
    FUTURE = "future"
    USED = "used to"


class Phase(StrEnum):
    """What happens to a state: it starts, ends, or goes on ("started working")."""

    START = "start"
    END = "end"
    ON = "on"


@dataclass(slots=True, kw_only=True)
class _Signs:
    """What the helpers and adverbs of a verb say."""

    progressive: bool = False
    negated: bool = False
    no_longer: bool = False
    supposed: bool = False
    willed: bool = False
    hedged: bool = False
    able: bool = False
    always: bool = False
    phase: Phase | None = None


@dataclass(slots=True)
class VerbGroup(_Signs):
    """A verb with all that its helpers say, and where it ends.

    `form` is that of the first word, `word` the verb as written. `wished` is the verb of "would
    love to".
    """

    verb: str
    tense: Tense
    form: Form
    end: int
    word: str = ""
    passive: bool = False
    wished: str = ""


_WORD = re.compile(r"\s*([^\W_][\w'-]*)")
_BE = {"am": Tense.PRESENT, "is": Tense.PRESENT, "are": Tense.PRESENT,
       "was": Tense.PAST, "were": Tense.PAST}  # fmt: skip
_SUPPOSING = frozenset(["would", "could", "might", "may", "should", "must", "ought", "shall"])
_HEDGES = frozenset(
    ["probably", "apparently", "supposedly", "allegedly", "presumably", "likely", "possibly"]
)
_PHASES = {"start": Phase.START, "begin": Phase.START, "stop": Phase.END, "quit": Phase.END,
           "keep": Phase.ON, "continue": Phase.ON}  # fmt: skip
# The same word now and then; who says "I quit" has done so.
_MOSTLY_PAST = frozenset(["quit", "split", "cut", "hit", "shut", "put", "beat"])
_AFTER_GOT = frozenset(
    ["married", "engaged", "divorced", "into", "to", "promoted", "back", "hired", "fired", "laid"]
)


_UNKNOWN = Form(0)
_SIGNS = [one.name for one in fields(_Signs)]


@dataclass(slots=True)
class _Reader(_Signs):
    """What was read so far of a verb group."""

    text: str
    at: int
    tense: Tense | None = None
    form: Form = _UNKNOWN
    helper: str = ""

    def peek(self, at: int | None = None) -> tuple[str, int]:
        """The next word in small letters and where it ends."""
        match = _WORD.match(self.text, self.at if at is None else at)
        return (match[1].lower(), match.end()) if match else ("", self.at)

    def further(self, at: int) -> tuple[str, int]:
        """The next word that is neither adverb nor negation, and where it ends."""
        ahead = _Reader(self.text, at)
        ahead.skip()
        return ahead.peek()

    def skip(self) -> None:
        """Go past adverbs and negations, which may stand anywhere."""
        while True:
            word, end = self.peek()
            after, beyond = self.peek(end)
            if word == "no" and after == "longer":
                self.no_longer, end = True, beyond
            elif word in ("not", "never"):
                self.negated = True
            elif word == "kind" and after == "of":
                end = beyond
            elif word in _HEDGES:
                self.hedged = True
            elif word not in lexicon.words("verb_adverbs"):
                return
            self.always = self.always or word == "always"
            self.at = end

    def group(self, name: str, end: int, word: str, *, passive: bool = False) -> VerbGroup:
        """All that was read, as a verb group."""
        tense, signs = self.tense or Tense.PRESENT, {one: getattr(self, one) for one in _SIGNS}
        return VerbGroup(name, tense, self.form, end, word, passive, **signs)


def verb_group(text: str, at: int = 0) -> VerbGroup | None:
    """Read the verb group that starts at `at`; None if no verb stands there."""
    reader = _Reader(text, at)
    for _ in range(8):
        reader.skip()
        word, end = reader.peek()
        if not word:
            return None
        done = _helper(reader, word, end)
        if done is None:
            return _main(reader, word, end)
        if isinstance(done, VerbGroup):
            return done
    return None


def _helper(reader: _Reader, word: str, end: int) -> VerbGroup | bool | None:
    """True if the word was a helper and is taken in, the group if it was the verb itself."""
    after, beyond = reader.peek(end)
    if word in _SUPPOSING:
        reader.supposed = True
    elif word == "can":
        reader.able, reader.tense = True, Tense.PRESENT
    elif word == "will":
        reader.tense, reader.willed = Tense.FUTURE, True
    elif word == "used" and after == "to" and not reader.helper:
        reader.tense, end = Tense.USED, beyond
    elif word in _BE or word in ("be", "been", "being"):
        return _be(reader, word, end)
    elif word in ("have", "has", "had", "having"):
        return _have(reader, word, end)
    elif word in ("do", "does", "did") and _is_base(reader.further(end)[0]):
        reader.tense = Tense.PAST if word == "did" else Tense.PRESENT
    else:
        return None
    reader.form = reader.form or _form_of(word)
    reader.at, reader.helper = end, word
    return True


def _be(reader: _Reader, word: str, end: int) -> VerbGroup | bool:
    reader.form = reader.form or _form_of(word)
    if reader.tense is None:
        reader.tense = _BE.get(word, Tense.PERFECT if word == "been" else None)
    reader.at, reader.helper = end, "be"
    reader.skip()
    following, beyond = reader.peek()
    to, after_to = reader.peek(beyond)
    act, act_end = reader.peek(after_to)
    small = reader.text[act_end - len(act) : act_end].islower()
    if following == "going" and to == "to" and small and _is_base(act, open=True):
        reader.supposed = reader.supposed or reader.tense is Tense.PAST
        reader.tense, reader.at, reader.helper = Tense.FUTURE, after_to, "to"
        return True
    if following in ("been", "being", "be"):
        return True
    known = verb(following)
    if (known and known[1] == Form.ING) or (known is None and guessed(following, Form.ING)):
        reader.progressive = True
        return True
    if known and Form.PARTICIPLE in known[1] and known[0] in lexicon.words("passives"):
        return reader.group(known[0], beyond, following, passive=True)
    return reader.group("be", reader.at, word)


def _is_base(word: str, *, open: bool = False) -> bool:
    known = verb(word)
    if known is None:
        return word == "be" or (open and guessed(word, Form.BASE))
    return Form.BASE in known[1]


def _have(reader: _Reader, word: str, end: int) -> VerbGroup | bool:
    reader.form = reader.form or _form_of(word)
    following, beyond = reader.further(end)
    known = verb(following)
    if reader.peek(end)[0] == "to":
        reader.supposed = word != "had"
        reader.tense, reader.at = Tense.PAST, reader.peek(end)[1]
        return True
    if following == "got" and word != "had" and reader.peek(beyond)[0] not in _AFTER_GOT:
        reader.tense = reader.tense or Tense.PRESENT
        return reader.group("have", beyond, word)
    participle = known and Form.PARTICIPLE in known[1]
    if following == "been" or participle or (known is None and following.endswith("ed")):
        past = word == "had" or reader.tense is Tense.PAST
        reader.tense = Tense.PAST if past else Tense.PERFECT
        reader.at, reader.helper = end, "have"
        if following != "had":
            return True
        reader.skip()
        return reader.group("have", beyond, word)
    reader.tense = reader.tense or (Tense.PAST if word == "had" else Tense.PRESENT)
    return reader.group("have", end, word)


def _main(reader: _Reader, word: str, end: int) -> VerbGroup | None:
    name, form = verb(word) or (word, _guess(reader, word))
    if not form:
        return None
    reader.form = reader.form or form
    if (phase := _phase(name, reader, end)) is not None:
        reader.phase, reader.at = phase, end
        reader.tense = reader.tense or _bare_tense(name, form)
        return _main(reader, *_to_or_ing(reader))
    if reader.tense is None:
        if form == Form.ING:
            return None
        reader.tense = _bare_tense(name, form)
    passive = reader.helper == "be" and not reader.progressive
    group = reader.group(name, end, word, passive=passive)
    return _wished(reader, group) if reader.supposed else group


def _guess(reader: _Reader, word: str) -> Form:
    if reader.progressive and guessed(word, Form.ING):
        return Form.ING
    if reader.helper == "have" and guessed(word, Form.PARTICIPLE):
        return Form.PARTICIPLE
    if reader.helper and reader.helper not in ("be", "have") and guessed(word, Form.BASE):
        return Form.BASE
    if reader.tense in (Tense.FUTURE, Tense.USED) and guessed(word, Form.BASE):
        return Form.BASE
    return Form.PAST if not reader.helper and guessed(word, Form.PAST) else Form(0)


def _wished(reader: _Reader, group: VerbGroup) -> VerbGroup:
    """ "Would love to" is a wish, and no less sure than "want to"."""
    to, end = reader.peek(group.end)
    if group.verb not in ("love", "like") or to != "to" or group.negated:
        return group
    return VerbGroup("want", Tense.PRESENT, Form.BASE, end - len(" to"), wished=group.verb)


def _phase(name: str, reader: _Reader, end: int) -> Phase | None:
    phase = _PHASES.get(name)
    if reader.phase or phase is None:
        return None
    known = verb(_to_or_ing(_Reader(reader.text, end))[0])
    fits = known and (Form.ING in known[1] or (Form.BASE in known[1] and phase is not Phase.END))
    return phase if fits else None


def _to_or_ing(reader: _Reader) -> tuple[str, int]:
    reader.skip()
    word, end = reader.peek()
    return reader.peek(end) if word == "to" else (word, end)


def _bare_tense(name: str, form: Form) -> Tense:
    past = Form.PAST in form and (Form.BASE not in form or name in _MOSTLY_PAST)
    return Tense.PAST if past or form == Form.PARTICIPLE else Tense.PRESENT


def _form_of(word: str) -> Form:
    if word in ("was", "were", "had", "did"):
        return Form.PAST
    return Form.PRESENT if word in ("is", "has", "does") else Form.BASE
