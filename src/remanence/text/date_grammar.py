"""How tokens become times: three passes, each a table of patterns over the kinds of tokens.

The first reads what stands for itself ("7 May", "last week"), the second what is said of it ("late
March", "the week before …"), the third where a stretch begins or ends ("since …", "between …").
What a pass has read becomes one token of kind Z for the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from remanence.text import date_rules as rules
from remanence.text.date_reading import Clock, Node, Reading, Rule, Words
from remanence.text.date_tokens import Token

Pass = tuple[re.Pattern[str], dict[str, Rule]]


def readings(tokens: Sequence[Token], clock: Clock) -> Iterator[tuple[int, int, Reading]]:
    """Each time said by the tokens, in order, with its span of characters."""
    nodes = [Node(token) for token in tokens]
    for patterns in (_first_pass(), _second_pass(), _third_pass()):
        nodes = _reduce(nodes, patterns, clock)
    for node in nodes:
        if node.reading is not None:
            yield node.token.start, node.token.end, node.reading


def _reduce(nodes: list[Node], patterns: Pass, clock: Clock) -> list[Node]:
    pattern, builders = patterns
    kinds = "".join("Z" if node.reading else node.token.kind for node in nodes)
    found: list[Node] = []
    done = 0
    for match in pattern.finditer(kinds):
        low, high = match.span()
        reading = _built(builders[match.lastgroup or ""], Words(nodes[low:high], clock))
        if reading is not None:
            low += len(match[0]) - len(match[0].lstrip("ijt"))
            found += nodes[done:low]
            start, end = nodes[low].token.start, nodes[high - 1].token.end
            found.append(Node(Token("Z", 0, start, end), reading))
            done = high
    return found + nodes[done:]


def _built(rule: Rule, words: Words) -> Reading | None:
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
    after_word = "(?:(?<=[CBbEFPo])t?|(?<=P-)|(?<=Po)t)"
    settled = f"(?:{after_word}|[ij]t?)"
    undated = "(?!,?o?t?[YnO])"
    weekday = "(?:[Ww],?)?"
    year = "(?:,?o?Y)"
    return _compiled([
        ("X", rules.written_date),
        (f"F?t?[nO][T&-]t?[nO]o?[Mmk]{year}?", rules.day_range),
        (f"F?[Mmk]t?[nO][T&-]t?[nO]{year}?", rules.day_range),
        (f"Ft?[Mmk]{year}?[T&b-]t?[Mmk]{year}?", rules.month_range),
        (f"[Mmk]{year}?[Tb-][Mmk]{year}", rules.month_range),
        (f"{weekday}t?[nO]o?[Mmk]{year}", rules.exact_day),
        (f"{weekday}[Mmk]t?[nO]{year}", rules.exact_day),
        (f"{weekday}t?[nO]o?[Mm]", rules.exact_day),
        (f"{settled}[nO]o?k{year}?", rules.exact_day),
        (f"{weekday}[Mmk]t?[nO](?![U%])", rules.exact_day),
        (f"[Mmk]{year}", rules.month_of_year),
        ("[Ss],?o?t?Y", rules.season_of_year),
        (f"[Hh]{year}", rules.holiday_of_year),
        (f"Q{year}", rules.quarter_of_year),
        (f"{amount}h?[UV]h?A", rules.ago),
        (f"g{amount}h?U", rules.ago),
        (f"{amount}h?Uh?v|i{amount}h?U(?![BEA])", rules.ahead),
        ("t?L[nNaf]U", rules.rolling),
        ("t?[Ud][BE]L", rules.beyond),
        ("t?LU(?!o)|t?lU|t?Ul", rules.turned_unit),
        ("t?L[Ww]d?(?!o)|t?Wl|t?lW", rules.turned_weekday),
        ("Ld", rules.turned_night),
        ("t?L[Ss]|t?[Ss]l|t?lS", rules.yearly(rules.season_in)),
        ("t?L[Hh]", rules.yearly(rules.holiday_in)),
        ("t?L[Mmk](?![nO])|t?Ml", rules.yearly(rules.month_in)),
        ("[ij]tU(?!o)", rules.plain_weekend),
        ("J", rules.some_days_ago),
        ("R", rules.han_unit),
        ("Dd?", rules.relative_day),
        (f"{settled}[Ss]{undated}", rules.yearly(rules.season_in)),
        (f"(?:H|{settled}h){undated}", rules.yearly(rules.holiday_in)),
        (f"(?:M|(?:(?<=[CBbEFPo])|(?<=P-)|i)[mk]){undated}", rules.yearly(rules.month_in)),
        ("(?:(?<!!)W|(?<=[CBbEF])w|jw)d?(?![BEo])", rules.plain_weekday),
        (f"(?:{settled}|(?<=U))Y|Y(?=[,|]|$)", rules.whole_year),
        ("tG", rules.whole_decade),
    ])  # fmt: skip


@cache
def _second_pass() -> Pass:
    return _compiled([
        ("t?P-?o?t?Z", rules.part_of),
        ("t?[OL]Uot?Z", rules.nth_unit),
        ("t?[OL]?Wot?Z", rules.weekday_of),
        ("t?[nNaf]?h?U[BE]t?Z", rules.offset),
        ("t?W[BE]t?Z", rules.weekday_by),
        ("t?Uot?Z|UZ", rules.containing),
        ("(?<!!)Wd?", rules.plain_weekday),
    ])  # fmt: skip


@cache
def _third_pass() -> Pass:
    return _compiled([
        ("Ft?Z[T&b-]t?Z", rules.between),
        ("ZTt?Z|Z-Z", rules.between),
        ("Ct?Z", rules.open_since),
        ("[Bb]t?Z", rules.open_before),
        ("Et?Z", rules.open_after),
    ])  # fmt: skip
