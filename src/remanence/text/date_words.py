"""Words that speak of time, in six languages, each with its kind (one letter) and value.

Kinds: D day from today, U unit, M month, W weekday, S season, H holiday (small letter: the word has
another meaning too and needs a neighbour that settles it; k: a month that is also a verb),
V weekdays, J some days ago, G decade, Q quarter, N number, a article, f vague number, h and a half,
O ordinal, L last / this / next, l the same in other languages, A ago after the number, g ago before
it, v from now, P early / middle / late, d part of day, R a unit from now, i in, j on or at, o of,
t the, F from or between, T to, & and, r or, B before, b until, E after, C since, ! every.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

Value = float | str | tuple[float, float]
Meaning = tuple[str, Value]

ROLLING = 0.5

_MONTHS = {
    1: "january enero janvier januar janeiro gennaio",
    2: "february feb febrero février fevrier februar fevereiro febbraio",
    3: "marzo märz março",
    4: "abril avril aprile",
    5: "maio maggio",
    6: "junio juin juni junho giugno",
    7: "july jul juillet julho luglio",
    8: "aug agosto août aout",
    9: "september sept septiembre septembre setembro settembre",
    10: "october oct octubre octobre oktober okt outubro ottobre",
    11: "november nov noviembre novembre novembro",
    12: "december diciembre décembre decembre dezember dez dezembro dicembre",
}
_MONTHS_OR_NAMES = {
    1: "jan", 4: "april apr", 6: "june jun", 7: "julio juli", 8: "august", 9: "sep", 12: "dec",
}  # fmt: skip
_MONTHS_OR_VERBS = {3: "march mar mars", 5: "may mayo mai"}
_WEEKDAYS = {
    0: "monday lunes lundi montag lunedì",
    1: "tuesday tue tues martes mardi dienstag martedì",
    2: "wednesday miércoles mercredi mittwoch mercoledì",
    3: "thursday thu thur thurs jueves jeudi donnerstag giovedì",
    4: "friday fri viernes vendredi freitag venerdì",
    5: "saturday sábado samedi samstag sabato",
    6: "sunday domingo dimanche sonntag domenica",
}
_WEEKDAYS_OR_NOT = {0: "mon", 2: "wed", 5: "sat", 6: "sun"}
_SEASONS = {
    3: "primavera printemps frühling",
    6: "summer verano verão sommer",
    9: "autumn otoño outono automne herbst autunno",
    12: "winter invierno inverno hiver",
}
_SEASONS_OR_NOT = {3: "spring", 6: "été", 9: "fall"}
_UNITS = {
    "hour": "hour hours hr hrs hora horas heure heures stunde stunden ora ore",
    "minute": "minute minutes min mins seconds minuto minutos minuten minuti",
    "day": "day days día días dia dias jour jours tag tage tagen giorno giorni",
    "night": "nights",
    "week": "week weeks wk wks semana semanas semaine semaines woche wochen settimana settimane",
    "fortnight": "fortnight fortnights",
    "weekend": "weekend weekends wochenende wochenenden",
    "month": "month months mes meses mois monat monate monaten mês mese mesi",
    "quarter": "quarter quarters",
    "year": "year years yr yrs año años ano anos année années ans jahr jahre jahren anno anni",
    "decade": "decade decades",
}
_DAYS = {
    -2: "anteayer vorgestern anteontem",
    -1: "yesterday ayer hier gestern ontem ieri",
    0: "today tonight hoy aujourd'hui heute hoje oggi",
    1: "tomorrow mañana demain morgen amanhã domani",
    2: "übermorgen",
}
_NUMBERS = {
    1: "one un una uno une ein eine einem einer um uma",
    2: "two dos deux zwei dois duas due",
    3: "three tres trois drei três tre",
    4: "four cuatro quatre vier quatro quattro",
    5: "five cinco cinq fünf cinque",
    6: "six seis sechs sei",
    7: "seven siete sieben sete sette",
    8: "eight ocho huit acht oito otto",
    9: "nine nueve neuf neun nove",
    10: "ten diez dix zehn dieci",
    11: "eleven",
    12: "twelve",
    15: "fifteen quince",
    20: "twenty",
    30: "thirty",
}
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh",
             8: "eighth", 9: "ninth", 10: "tenth"}  # fmt: skip
_TURNS = {-1: "last previous", 0: "this current", 1: "next coming upcoming", -ROLLING: "past"}
_TURNS_ABROAD = {
    -1: "pasado pasada passado passada dernier dernière derniere letzte letzten letztes letzter "
    "vergangene vergangenen scorso scorsa",
    0: "esta este cette diese dieser diesen dieses questa questo",
    1: "próximo próxima proximo proxima prochain prochaine nächste nächsten nächstes prossimo "
    "prossima",
}
_PARTS = {0: "early beginning start", 1: "mid middle", 2: "late end"}
_DAY_PARTS = "morning afternoon evening night"
_PLAIN_KINDS = {
    "A": "ago back fa atrás atras",
    "g": "hace vor há faz",
    "i": "in during throughout around im en em nel",
    "j": "on at over for about",
    "o": "of de del di",
    "t": "the my our his her their el la le il los der die das dem den",
    "F": "from between entre zwischen",
    "T": "to through bis hasta",
    "&": "and y et und e",
    "r": "or",
    "B": "before",
    "b": "until till by",
    "E": "after following",
    "C": "since desde depuis seit dal",
    "!": "every each",
    "a": "a an",
}
_VAGUE: dict[str, tuple[float, float]] = {
    "few": (2, 6), "several": (3, 9), "couple": (2, 3), "some": (2, 9), "many": (5, 20),
    "pocos": (2, 6), "quelques": (2, 6), "einigen": (2, 6), "alguns": (2, 6), "qualche": (2, 6),
}  # fmt: skip
_HOLIDAYS = {
    "h": "christmas xmas easter halloween thanksgiving",
    "H": "navidad noël weihnachten natal natale",
}
_CHRISTMAS = frozenset(["xmas", "navidad", "noël", "natal", "natale", "weihnachten"])

PHRASES: dict[str, Meaning] = {
    "the day before yesterday": ("D", -2),
    "day before yesterday": ("D", -2),
    "the day after tomorrow": ("D", 2),
    "day after tomorrow": ("D", 2),
    "antes de ayer": ("D", -2),
    "the other day": ("J", 1),
    "the other night": ("J", 1),
    "this past": ("L", -1),
    "half a": ("N", 0.5),
    "half an": ("N", 0.5),
    "and a half": ("h", 0.5),
    "a couple of": ("f", (2, 3)),
    "a couple": ("f", (2, 3)),
    "couple of": ("f", (2, 3)),
    "a few": ("f", (2, 6)),
    "from now": ("v", 1),
    "in the middle of": ("P", 1),
    "il y a": ("g", 1),
    "avant-hier": ("D", -2),
    "week-end": ("U", "weekend"),
    "segunda-feira": ("W", 0),
    "terça-feira": ("W", 1),
    "quarta-feira": ("W", 2),
    "quinta-feira": ("W", 3),
    "sexta-feira": ("W", 4),
    "fin de semana": ("U", "weekend"),
    "fim de semana": ("U", "weekend"),
    "l'année dernière": ("Y", -1),
    "l'an dernier": ("Y", -1),
    "l'anno scorso": ("Y", -1),
    "que viene": ("l", 1),
    "que vem": ("l", 1),
    "altro ieri": ("D", -2),
    "new year's eve": ("H", "new year's eve"),
    "new years eve": ("H", "new year's eve"),
    "new year's day": ("H", "new year"),
    "new year's": ("H", "new year"),
    "christmas eve": ("H", "christmas eve"),
    "christmas day": ("H", "christmas"),
    "valentine's day": ("H", "valentine"),
    "valentines day": ("H", "valentine"),
    "independence day": ("H", "independence day"),
    "mother's day": ("H", "mother's day"),
    "father's day": ("H", "father's day"),
    "memorial day": ("H", "memorial day"),
    "labor day": ("H", "labor day"),
    "black friday": ("H", "black friday"),
    "good friday": ("H", "good friday"),
}
HAN: dict[str, Meaning] = {
    "前天": ("D", -2), "昨天": ("D", -1), "昨日": ("D", -1), "今天": ("D", 0), "今日": ("D", 0),
    "明天": ("D", 1), "明日": ("D", 1), "后天": ("D", 2),
    "上周": ("R", "week-1"), "上星期": ("R", "week-1"), "先週": ("R", "week-1"),
    "下周": ("R", "week+1"), "来週": ("R", "week+1"),
    "这周": ("R", "week+0"), "今週": ("R", "week+0"),
    "上个月": ("R", "month-1"), "先月": ("R", "month-1"), "下个月": ("R", "month+1"),
    "来月": ("R", "month+1"), "这个月": ("R", "month+0"), "今月": ("R", "month+0"),
    "去年": ("R", "year-1"), "昨年": ("R", "year-1"), "今年": ("R", "year+0"),
    "明年": ("R", "year+1"), "来年": ("R", "year+1"), "前年": ("R", "year-2"),
}  # fmt: skip
# Words a text must hold one of before it is read for time at all.
_TELLING = frozenset("DUMmkWwSsHhVd")


@cache
def meanings() -> dict[str, Meaning]:
    """Every single word that speaks of time; where two lists hold one, the first counts."""
    found: dict[str, Meaning] = {}
    for word, meaning in _listed():
        found.setdefault(word, meaning)
    return found


@cache
def hints() -> frozenset[str]:
    """What a text without time has none of; digits are written 0."""
    words = {word for word, (kind, _) in meanings().items() if kind in _TELLING}
    words |= {"eve", "feira", "hui", "dernier", "dernière", "scorso"}
    words |= {"0000", "0000s", "00s", "q0"}
    for day in ("0", "00"):
        words |= {f"{day}/{month}/{year}" for month in ("0", "00") for year in ("00", "0000")}
    return frozenset(words)


def _listed() -> Iterator[tuple[str, Meaning]]:
    for kind, table in (
        ("M", _MONTHS), ("m", _MONTHS_OR_NAMES), ("k", _MONTHS_OR_VERBS),
        ("W", _WEEKDAYS), ("w", _WEEKDAYS_OR_NOT), ("S", _SEASONS),
        ("s", _SEASONS_OR_NOT), ("D", _DAYS), ("N", _NUMBERS), ("O", _ORDINALS), ("L", _TURNS),
        ("l", _TURNS_ABROAD), ("P", _PARTS),
    ):  # fmt: skip
        for value, words in table.items():
            yield from ((word, (kind, value)) for word in words.split())
    yield from ((f"{words.split()[0]}s", ("V", day)) for day, words in _WEEKDAYS.items())
    yield from ((word, ("U", unit)) for unit, words in _UNITS.items() for word in words.split())
    yield from ((word, ("d", word)) for word in _DAY_PARTS.split())
    yield from ((word, ("f", value)) for word, value in _VAGUE.items())
    yield from ((word, (kind, 1)) for kind, words in _PLAIN_KINDS.items() for word in words.split())
    for kind, names in _HOLIDAYS.items():
        for name in names.split():
            yield name, (kind, "christmas" if name in _CHRISTMAS else name)
