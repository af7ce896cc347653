"""Values that a text states, by what they measure, and which of them a question asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from remanence.language.words import terms

MONEY, PERCENT, DATE, TIME = "$", "%", "date", "time"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_VALUE = re.compile(
    rf"\b(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"
    r"|[$€£] ?(?P<money>\d[\d,.]*\d|\d)"
    r"|\b(?P<time>\d{1,2}(?::\d\d)?) ?(?P<half>[ap])\.?m\b"
    r"|(?<![\w.$])(?:(?:19|20)\d\d\b|(?P<number>\d[\d,.]*\d|\d)(?P<percent> ?%)?"
    r"(?:[ -](?P<noun>[a-z]+))?)",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ASKED = {
    MONEY: r"\bhow much\b|\b(?:budget|costs?|prices?|pay|paid|spen[dt]\w*|salary|rent|fees?"
    r"|income|allocated|money|worth|savings?|funds?|allowance)\b",
    PERCENT: r"\b(?:percent\w*|rates?|accuracy|coverage|scores?|share|proportion)\b|%",
    DATE: r"\b(?:when|deadline|schedule[ds]?|by what|(?:what|which) (?:date|day)|how many days)\b",
    TIME: r"\b(?:when|schedule[ds]?|what time)\b",
}
_ASKS = {unit: re.compile(pattern, re.IGNORECASE) for unit, pattern in _ASKED.items()}
_HOW_LONG = re.compile(r"\bhow long\b", re.IGNORECASE)
_SPANS = frozenset(
    term
    for unit in ("minutes", "hours", "days", "weeks", "months", "years")
    for term in terms(unit)
)
# Questions of the past, and for advice: what they are answered by is not replaced.
_BACK = re.compile(
    r"^(?:how (?:do|did|can|should|would|could|has|have)"
    r"|what (?:should|would|can|could|are some))\b"
    r"|\b(?:before|initial(?:ly)?|original(?:ly)?|used to|previous(?:ly)?|earlier|ever|over time"
    r"|compare[ds]?|order|sequence|history|between|differen(?:t|ce)|across|at the time|back then"
    r"|did (?:i|you) (?:say|mention|tell)|(?:i|you) (?:said|mentioned|told|noted))\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:increas|decreas|extend|adjust|updat|chang|re-?schedul|switch|postpon|improv|surpass)\w*"
    r"|\b(?:mov(?:ed|ing)|rais(?:ed|ing)|lowered|reached|grew|grown|pushed|delayed|shortened"
    r"|expanded|new|now|instead|no longer|any ?more|actually|currently|recently|latest|up to"
    r"|down to|added|total of)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=512)
def values(text: str) -> Mapping[str, frozenset[str]]:
    """What a text states: amounts of money, parts of a hundred, dates, times, and so many of what.

    >>> values("I read 12 books by March 1, for $60")
    {'book': frozenset({'12'}), 'date': frozenset({'mar1'}), '$': frozenset({'60'})}
    """
    found: dict[str, frozenset[str]] = {}
    for one in _VALUE.finditer(_CODE.sub(" ", text)):
        unit, value = _value(one)
        if unit:
            found[unit] = found.get(unit, frozenset()) | {value}
    return found


def _value(found: re.Match[str]) -> tuple[str, str]:
    if found["month"]:
        return DATE, found["month"][:3].lower() + found["day"]
    if found["money"]:
        return MONEY, found["money"].replace(",", "")
    if found["time"]:
        return TIME, found["time"] + found["half"].lower()
    if found["percent"]:
        return PERCENT, found["number"]
    counted = terms(found["noun"] or "")
    return (counted[0] if counted else "", (found["number"] or "").replace(",", ""))


def asked_units(question: str) -> frozenset[str]:
    """What the value that a question asks for may measure; nothing where it asks of the past."""
    if _BACK.search(question):
        return frozenset()
    units = {unit for unit, pattern in _ASKS.items() if pattern.search(question)}
    units |= _SPANS if _HOW_LONG.search(question) else frozenset()
    return frozenset(units) | frozenset(terms(question))


def says_change(text: str) -> bool:
    """Whether a text says that something is no longer what it was."""
    return _CHANGE.search(text) is not None
