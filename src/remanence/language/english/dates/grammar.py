"""How tokens become times: three passes, each a table of patterns over the kinds of tokens.

The first reads what stands for itself ("7 May", "last week"), the second what is said of it ("late
March", "the week before …"), the third where a stretch begins or ends ("since …", "between …").
What a pass has read becomes one token of kind Z for the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from remanence.language.english.dates import fixed, relative
from remanence.language.english.dates.tokens import (
    DateContext,
    MatchedNodes,
    Rule,
    TimeReading,
    Token,
    TokenNode,
)

Pass = tuple[re.Pattern[str], dict[str, Rule]]


def readings(tokens: Sequence[Token], clock: DateContext) -> Iterator[tuple[int, int, TimeReading]]:
    """Each time said by the tokens, in order, with its span of characters."""
    nodes = [TokenNode(token) for token in tokens]
    for patterns in (_first_pass(), _second_pass(), _third_pass()):
        nodes = _reduce(nodes, patterns, clock)
    for node in nodes:
        if node.reading is not None:
            yield node.token.start, node.token.end, node.reading


def _reduce(nodes: list[TokenNode], patterns: Pass, clock: DateContext) -> list[TokenNode]:
    pattern, builders = patterns
    kinds = "".join("Z" if node.reading else node.token.kind for node in nodes)
    found: list[TokenNode] = []
    done = 0
    for match in pattern.finditer(kinds):
        low, high = match.span()
        reading = _built(builders[match.lastgroup or ""], MatchedNodes(nodes[low:high], clock))
        if reading is not None:
            low += len(match[0]) - len(match[0].lstrip("ijt"))
            found += nodes[done:low]
            start, end = nodes[low].token.start, nodes[high - 1].token.end
            found.append(TokenNode(Token("Z", 0, start, end), reading))
            done = high
    return found + nodes[done:]


def _built(rule: Rule, words: MatchedNodes) -> TimeReading | None:
    """A date that does not exist, or lies beyond the calendar, is no date."""
    try:
        return rule(words)
    except (ValueError, OverflowError):
        return None


def _compiled(table: Sequence[tuple[str, Rule]]) -> Pass:
    builders = {f"r{number}": rule for number, (_, rule) in enumerate(table)}
    patterns = (f"(?P<r{number}>{pattern})" for number, (pattern, _) in enumerate(table))
    return re.compile(f"(?![.,|])(?:{'|'.join(patterns)})"), builders


@cache
def _first_pass() -> Pass:
    amount = "(?:[nNaf](?:[rT][nNaf])?)"
    after_word = "(?:(?<=[CBbEFPoq])t?|(?<=P-)|(?<=Po)t)"
    settled = f"(?:{after_word}|[ij]t?)"
    undated = "(?!,?o?t?[YnO])"
    weekday = "(?:[Ww],?)?"
    year = "(?:,?o?Y)"
    return _compiled([
        ("X", fixed.written_date),
        (f"F?t?[nO][T&-]t?[nO]o?[Mmk]{year}?", fixed.day_range),
        (f"F?[Mmk]t?[nO][T&-]t?[nO]{year}?", fixed.day_range),
        (f"Ft?[Mmk]{year}?[T&b-]t?[Mmk]{year}?", fixed.month_range),
        (f"[Mmk]{year}?[Tb-][Mmk]{year}", fixed.month_range),
        ("F?Y[T-]Y", fixed.year_range),
        (f"{weekday}t?[nO]o?[Mmk]{year}", fixed.exact_day),
        (f"{weekday}[Mmk]t?[nO]{year}", fixed.exact_day),
        (f"{weekday}t?[nO]o?[Mm]", fixed.exact_day),
        (f"{settled}[nO]o?k{year}?", fixed.exact_day),
        (f"{weekday}[Mmk]t?[nO](?![U%])", fixed.exact_day),
        (f"[Mmk]{year}", fixed.of_year(fixed.month_in)),
        ("[Ss],?o?t?Y", fixed.of_year(fixed.season_in, 0.9)),
        (f"[Hh]{year}", fixed.of_year(fixed.holiday_in)),
        (f"Q{year}", fixed.quarter_of_year),
        (f"q?{amount}h?[UV]h?A", relative.ago),
        (f"g{amount}h?U", relative.ago),
        (f"{amount}h?Uh?v|i{amount}h?U(?![BEA])", relative.ahead),
        ("t?L[nNaf]U", relative.rolling),
        ("t?[Ud][BE]L", relative.beyond),
        ("t?LU(?!o)|t?lU|t?Ul", relative.turned_unit),
        ("t?L[Ww]d?(?!o)|t?Wl|t?lW", relative.turned_weekday),
        ("Ld", relative.turned_night),
        ("t?L[Ss]|t?[Ss]l|t?lS", fixed.yearly(fixed.season_in)),
        ("t?L[Hh]", fixed.yearly(fixed.holiday_in)),
        ("t?L[Mmk](?![nO])|t?Ml", fixed.yearly(fixed.month_in)),
        ("[ij]tU(?!o)", relative.plain_weekend),
        ("(?<=Po)tU(?!o)", relative.this_unit),
        ("J", relative.some_days_ago),
        ("R", relative.han_unit),
        ("Dd?", relative.relative_day),
        (f"{settled}[Ss]{undated}", fixed.yearly(fixed.season_in)),
        (f"(?:H|{settled}h){undated}", fixed.yearly(fixed.holiday_in)),
        (f"(?:M|(?:(?<=[CBbEFPoq])|(?<=P-)|i)[mk]){undated}", fixed.yearly(fixed.month_in)),
        ("(?:(?<![!a])(?<!a[.])W|(?<=[CBbEF])w|jw)d?(?![BEo])", relative.plain_weekday),
        (f"(?:{settled}|(?<=U))Y|Y(?=[,|]|$)", fixed.whole_year),
        ("tG", fixed.whole_decade),
    ])  # fmt: skip


@cache
def _second_pass() -> Pass:
    return _compiled([
        ("t?P-?o?t?Z", relative.part_of),
        ("t?[OL]Uot?Z", relative.nth_unit),
        ("t?[OL]?Wot?Z", relative.weekday_of),
        ("t?Oot?Z", relative.day_of),
        ("t?[nNaf]?h?U[BE]t?Z", relative.offset),
        ("t?W[BE]t?Z", relative.weekday_by),
        ("t?Uot?Z|UZ", relative.containing),
        ("(?<![!a])(?<!a[.])Wd?", relative.plain_weekday),
        ("qt?Z", relative.roughly),
    ])  # fmt: skip


@cache
def _third_pass() -> Pass:
    return _compiled([
        ("Ft?Z[T&b-]t?Z", relative.between),
        ("ZTt?Z|Z-Z", relative.between),
        ("Ct?Z", relative.open_since),
        ("[Bb]t?Z", relative.open_before),
        ("Et?Z", relative.open_after),
    ])  # fmt: skip
