"""Private data in running text: found by its form, checked by its sums, replaced by its name.

It is looked for in a plain reading of the text, in which wide digits, spaces and dashes of all
kinds are the usual ones and marks that nobody sees are left out. Every pattern starts at the edge
of a word and is bounded, so that no text takes more than linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple

from remanence.errors import ConfigError

ALL = "all"
_CUE_REACH = 28  # how far before a number its cue may begin

_DOTS = "\u00b7\u2022\u2024\u2027\u2219\u22c5\u3002\u30fb\uff0e\uff61\uff65"
# Length of an IBAN by country, as its registry has it.
_IBANS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20
EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30
KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24
PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29
VA22 VG24 XK20
"""
_IBAN_LENGTHS = {each[:2]: int(each[2:]) for each in _IBANS.split()}
# Who gives out cards with these first digits, and how long their numbers are.
_CARDS = (
    (re.compile(r"4"), (16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[689])"), (14, 16)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),
    (re.compile(r"6(?:011|22|4[4-9]|5)"), (16, 17, 18, 19)),
)
_PHONE_CUE = re.compile(
    r"\b(?:phones?|telephone|telefon|tel|mobile|cell|whatsapp|signal|fax|sms|dial|call|calling|"
    r"called (?:me|us|him|her|them)|text|(?:my|her|his|our|their) number|reach (?:me|us|her|him))"
    r"\b[^0-9\n]*$",
    re.IGNORECASE,
)
_SSN_CUE = re.compile(r"\b(?:ssn|social security)\b[^0-9\n]*$", re.IGNORECASE)
_VERSION_CUE = re.compile(r"\b(?:version|release|build|firmware|v)[ .:#]*$", re.IGNORECASE)
_IP_CUE = re.compile(r"(?:\b(?:ip|ipv4|host|server|ping)\b[^0-9\n]*|://(?:[^\s/@]{0,20}@)?)$", re.I)
_WORD_BEFORE = re.compile(r"(?:^|[\W_])[^\W\d_]{0,24}$")
_WORD_AFTER = re.compile(r"[^\W\d_]{0,24}(?![^\W_])")
_GROUPED = re.compile("[A-Z0-9]+|[A-Z0-9]{4}(?: [A-Z0-9]{4})+(?: [A-Z0-9]{1,4})?")
_FEW_FIGURES = re.compile("(?:[0-9]{1,3}:{1,2}){1,2}[0-9]{0,3}")  # a time, a score, a ratio
_DATE = re.compile(
    r"(?<![0-9])(?:[0-9]{1,2}[ ./-][0-9]{1,2}[ ./-](?:19|20)[0-9]{2}"
    r"|(?:19|20)[0-9]{2}[ ./-][0-9]{1,2}[ ./-][0-9]{1,2})(?![0-9])"
)

Check = Callable[[re.Match[str]], int]
"""How many characters of what was found are private; 0: none."""


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    check: Check


def redactor(kinds: str) -> Callable[[str], str]:
    """What takes these kinds of private data out of a text; `ConfigError` for an unknown one.

    >>> redactor("email, card")("ana@example.com paid with 4111 1111 1111 1111")
    '[email] paid with [card]'
    """
    named = {kind.lower() for kind in kinds.replace(",", " ").split()}
    if unknown := sorted(named - {ALL, *_RULES}):
        raise ConfigError(
            f"redact must be of {', '.join(_RULES)} or {ALL}; got {unknown[0][:40]!r}."
        )
    chosen = [kind for kind in _RULES if kind in named or ALL in named]

    def redact(text: str) -> str:
        for kind in chosen:
            reading = _NUMERALS if kind in _IN_ANY_NUMERALS else _READING
            if _HINTS[kind].search(_plain(text, reading)[0]):
                for rule in _RULES[kind]:
                    text = _replaced(text, rule, f"[{kind}]", reading)
        return text

    return redact


def _replaced(text: str, rule: _Rule, name: str, reading: _Reading) -> str:
    plain, places = _plain(text, reading)
    parts, upto = [], 0
    for found in rule.pattern.finditer(plain):
        if private := rule.check(found):
            start, last = found.start(), found.start() + private - 1
            parts += [text[upto : places[start]], name]
            upto = places[last] + 1
    return "".join(parts) + text[upto:] if parts else text


class _Reading(dict[int, str | None]):
    """What each character is read as; None: as nothing. Filled as characters come up.

    With `numerals`, the digits of every script are the usual ones.
    """

    def __init__(self, *, numerals: bool = False) -> None:
        super().__init__()
        self._numerals = numerals

    def __missing__(self, code: int) -> str | None:
        digit = unicodedata.decimal(chr(code), None) if self._numerals else None
        self[code] = read = _read(chr(code)) if digit is None else str(digit)
        return read


def _read(letter: str) -> str | None:
    category = unicodedata.category(letter)
    if category in ("Cf", "Mn", "Me"):
        return None
    if letter in _DOTS:
        return "."
    plain = unicodedata.normalize("NFKC", letter)
    if category == "Zs":
        return " "
    if category == "Pd" or plain in ("-", "\u2212", "\u2043"):
        return "-"
    return plain if len(plain) == 1 else letter


def _plain(text: str, reading: _Reading) -> tuple[str, Sequence[int]]:
    """The text as it is read, and where each of its characters stands in the text itself."""
    if text.isascii():
        return text, range(len(text))
    plain = text.translate(reading)
    if len(plain) == len(text):
        return plain, range(len(text))
    return plain, [at for at, letter in enumerate(text) if reading[ord(letter)] is not None]


def _whole(found: re.Match[str]) -> int:
    return len(found[0])


def _iban(found: re.Match[str]) -> int:
    end = _iban_end(found[0].upper())
    return 0 if found[0][end : end + 1].isalnum() else end


def _glued_iban(found: re.Match[str]) -> int:
    """One in capitals between letters of a word, or after figures that are none of its own."""
    end = _iban_end(found[0])
    after = _WORD_AFTER.match(found.string, found.start() + end)
    written = _GROUPED.fullmatch(found[0][:end])
    return end if written and after and _word_before(found) else 0


def _iban_end(shown: str) -> int:
    """How many characters are an IBAN, by its country's length and its sum; 0: none."""
    length = _IBAN_LENGTHS.get(shown[:2])
    at = [n for n, letter in enumerate(shown) if letter.isalnum()]
    if length is None or len(at) < length:
        return 0
    iban = "".join(shown[n] for n in at[:length]).upper()
    digits = "".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])
    return at[length - 1] + 1 if int(digits) % 97 == 1 else 0


def _word_before(found: re.Match[str]) -> bool:
    """Whether nothing but a word stands right before; a code goes on with digits."""
    start = found.start()
    return _WORD_BEFORE.search(found.string[max(0, start - _CUE_REACH) : start]) is not None


def _card(found: re.Match[str]) -> int:
    digits = "".join(letter for letter in found[0] if letter.isdigit())
    issued = any(who.match(digits) and len(digits) in lengths for who, lengths in _CARDS)
    return len(found[0]) if issued and _luhn(digits) else 0


def _luhn(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _ip4(found: re.Match[str]) -> int:
    return 0 if _told_before(found, _VERSION_CUE) else len(found[0])


def _ip6(found: re.Match[str]) -> int:
    shown = found[0]
    if shown.endswith(":") and not shown.endswith("::"):
        shown = shown[:-1]
    groups = [group for group in shown.split(":") if group]
    if len(groups) < 4 and not any(letter.isdigit() for letter in shown):
        return 0
    if not shown.startswith("::") and shown.isascii() and _FEW_FIGURES.fullmatch(shown):
        return 0
    try:
        IPv6Address(shown)
    except AddressValueError:
        return 0
    return len(shown)


def _international(found: re.Match[str]) -> int:
    digits = sum(letter.isdigit() for letter in found[0])
    parted = any(letter in " .-/" for letter in found[0])
    if found[0].startswith("+"):
        return len(found[0])
    return len(found[0]) if digits >= 11 and parted else 0


def _american(found: re.Match[str]) -> int:
    """No area begins with 0 or 1, and figures that are all round count something."""
    groups = re.findall(f"{_D}+", found[0])[-3:]
    invented = groups[0][0] in "01" and groups[0] != "123"
    return 0 if invented or all(group.endswith("00") for group in groups) else len(found[0])


def _national(found: re.Match[str]) -> int:
    digits = sum(letter.isdigit() for letter in found[0])
    fits = 9 <= digits <= 12 and _DATE.search(found[0]) is None
    return len(found[0]) if fits else 0


def _told_to_call(found: re.Match[str]) -> int:
    return _whole(found) if _DATE.search(found[0]) is None else 0


def _announced(cue: re.Pattern[str], check: Check = _whole) -> Check:
    return lambda found: check(found) if _told_before(found, cue) else 0


def _told_before(found: re.Match[str], cue: re.Pattern[str]) -> bool:
    start = found.start()
    return cue.search(found.string[max(0, start - _CUE_REACH) : start]) is not None


def _rule(pattern: str, check: Check = _whole) -> _Rule:
    return _Rule(re.compile(pattern), check)


_D = "[0-9]"
_OCTET = f"(?:25[0-5]|2[0-4]{_D}|1{_D}{_D}|[1-9]?{_D})"
_DOT = r"(?:\.|\[\.\]|\(\.\))"  # the bracketed ones are meant to keep programs from seeing it
_ALONE = r"(?<!\w)(?<![0-9][.,:])"  # no word, and no further part of a number, before
_ENDED = r"(?!\w)(?![.,:][0-9])"
_PARTED = r"([ ./_-]| ?[/-] ?| {2})"  # what stands between the groups of a number, each time alike
_READING, _NUMERALS = _Reading(), _Reading(numerals=True)
_IN_ANY_NUMERALS = frozenset({"card", "phone"})
_LINED = r"([ ./_-]| ?[/-] ?| {2}| {0,2}\r?\n {0,2})"  # a card's number may have a line per group
_AT = r"(?:@|%40|&#0{0,3}64;|&#[xX]0{0,3}40;|&commat;)"  # as addresses and pages write it too
_OCTET_HEX = "0[xX][0-9A-Fa-f]{1,2}"

# What a text must hold before the rules are tried: most hold nothing, and take a tenth of the time.
_SEVEN_DIGITS = re.compile(rf"{_D}(?:[^0-9]{{0,3}}{_D}){{6}}")
_HINTS: Mapping[str, re.Pattern[str]] = {
    "email": re.compile(r"@|%40|&#|&commat;|(?i:\bat\b)"),
    "iban": re.compile(rf"{_D}{_D}"),
    "card": re.compile(rf"{_D}(?:[^0-9]{{0,6}}{_D}){{6}}"),
    "ssn": _SEVEN_DIGITS,
    "ip": re.compile(r"0[xX]|[.:][\])]?[0-9A-Fa-f]{0,4}[\[(]?[.:]"),
    "phone": _SEVEN_DIGITS,
}
_RULES: Mapping[str, tuple[_Rule, ...]] = {
    "email": (
        _rule(
            r"(?<!\w)\w[\w.%+'!#$*^~-]{0,63}" + _AT + r"(?:[^\W_](?:[\w-]{0,62})\.){1,8}"
            r"(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{2,59})(?![\w@])"
        ),
        _rule(r'"[^"\n@]{1,64}"@(?:[^\W_](?:[\w-]{0,62})\.){1,8}[^\W\d_]{2,24}(?![\w@])'),
        _rule(
            r"(?<![\w.])\w[\w.%+-]{0,63} {0,2}[\[({<] ?(?i:at|@) ?[\])}>] {0,2}"
            r"(?:[^\W_][\w-]{0,62}(?:\.| {0,2}[\[({<] ?(?i:dot|\.) ?[\])}>] {0,2})){1,8}"
            r"[^\W\d_]{2,24}(?!\w)"
        ),
        _rule(
            r"(?<![\w.])\w[\w.%+-]{0,63} (?i:at) (?:[^\W_][\w-]{0,62} (?i:dot) ){1,4}"
            r"(?i:com|org|net|edu|gov|info|io)(?!\w)"
        ),
    ),
    "iban": (
        _rule(
            r"(?<!\w)[A-Za-z]{2}[ .-]?[0-9]{2}(?:(?:[ ./_-]| ?- ?| {2})?[A-Za-z0-9]){11,30}",
            _iban,
        ),
        _rule(r"(?<![0-9_])[A-Z]{2}[0-9]{2}(?: ?[A-Za-z0-9]){11,30}", _glued_iban),
    ),
    "card": (
        _rule(
            rf"{_ALONE}{_D}{{4}}{_LINED}{_D}{{4}}\1{_D}{{4}}\1{_D}{{4}}\1{_D}{{3}}{_ENDED}", _card
        ),
        _rule(rf"{_ALONE}{_D}{{4}}{_LINED}{_D}{{4}}\1{_D}{{4}}\1{_D}{{4}}{_ENDED}", _card),
        _rule(rf"{_ALONE}{_D}{{4}}{_LINED}{_D}{{6}}\1{_D}{{4,5}}{_ENDED}", _card),
        _rule(rf"{_ALONE}{_D}{{8}}{_LINED}{_D}{{8}}{_ENDED}", _card),
        _rule(rf"{_ALONE}{_D}{{14,19}}{_ENDED}", _card),
    ),
    "ssn": (
        _rule(
            rf"{_ALONE}(?<![0-9][-/])(?!000|666|9){_D}{{3}}{_PARTED}(?!00){_D}{{2}}\1"
            rf"(?!0000){_D}{{4}}{_ENDED}(?!-)"
        ),
        _rule(rf"{_ALONE}(?!000|666|9){_D}{{9}}{_ENDED}", _announced(_SSN_CUE)),
    ),
    "ip": (
        _rule(
            r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}"
            rf"(?:{_D}{{1,3}}(?:\.{_D}{{1,3}}){{3}}|[0-9A-Fa-f]{{0,4}})(?!\w|:\w|::)",
            _ip6,
        ),
        _rule(rf"(?<![\w.])(?:{_OCTET}{_DOT}){{3}}{_OCTET}(?!\w|\.[0-9]|-(?:rc|alpha|beta))", _ip4),
        _rule(rf"(?<![\w.])(?:{_OCTET_HEX}\.){{3}}{_OCTET_HEX}(?![\w.])"),
        _rule(r"(?<![\w.])0[xX][0-9A-Fa-f]{8}(?!\w)", _announced(_IP_CUE)),
    ),
    "phone": (
        _rule(rf"(?<![\w+])\+1(?:[ .()/-]{{0,3}}{_D}){{10}}{_ENDED}"),
        _rule(
            rf"(?<![\w+])(?:\+|(?<![0-9] )00)[1-9](?:[ .()/-]{{0,3}}{_D}){{6,14}}{_ENDED}",
            _international,
        ),
        _rule(
            rf"{_ALONE}(?<![0-9]-)(?:1[ .-])?(?:\({_D}{{3}}\)[ .-]?|{_D}{{3}} ?[.-] ?)"
            rf"{_D}{{3}} ?[ .-] ?{_D}{{4}}{_ENDED}(?!-)",
            _american,
        ),
        _rule(rf"{_ALONE}(?:1 )?[2-9]{_D}{{2}} [2-9]{_D}{{2}}[ .-]{_D}{{4}}{_ENDED}(?!-)"),
        _rule(
            rf"{_ALONE}(?<![0-9][ /-])(?:\(0\) ?[1-9]{_D}{{0,4}}(?: ?[/-] ?|[ .]){_D}{{2,8}}"
            rf"|\(?0[1-9]{_D}{{0,4}}\)?(?:[ ./-]{_D}{{2,8}}| [/-] {_D}{{5,8}}))"
            rf"(?:[ ./-]{_D}{{2,8}}){{0,3}}{_ENDED}(?!-)",
            _national,
        ),
        _rule(
            rf"{_ALONE}(?<![0-9][-/])(?:{_D}{{3,4}}[ .-]{_D}{{4}}|{_D}{{9,15}}"
            rf"|{_D}{{3}}(?:[ .-]{_D}{{3}}){{2}}|{_D}{{2,5}}(?:[ ./-]{_D}{{2,5}}){{2,5}}"
            rf"|{_D}{{5}}[ -]{_D}{{5}}){_ENDED}(?!-)",
            _announced(_PHONE_CUE, _told_to_call),
        ),
    ),
}
