"""Words that one "has" without owning anything: a look, a meeting, a headache."""

from __future__ import annotations

_WORDS = """
time fun lot bit look chance idea question questions problem problems feeling meeting day week
weekend night plan plans party call talk chat great good nice wonderful amazing lovely blast ball
fight argument cold headache dream break rest walk drink lunch dinner breakfast coffee go try hard
tough busy trip vacation holiday appointment interview exam test class point reason few couple need
desire impact effect passion interest love sense way experience opportunity job conversation
discussion moment memory memories rough long bad big crazy weird funny scare crush favour favor hug
smile laugh message text email news update request deadline say share ton tons friend friends child
kid kids children son daughter sister brother baby cousin wedding degree hand hands issue issues
trouble choice choices clue concern concerns goal goals life thing soft sweet birthday date blessing
connection mixed hard lot voice drink drinks bite nap shower bath swim run ride game match concert
show lesson lessons year month hour hours minute minutes minor similar different better little
huge number home room shift favourite favorite secret crisis emergency lead head-start start
session rehearsal practice performance presentation thesis flight ticket tickets reservation
suggestion recommendation request complaint confession theory hunch nightmare cough fever flu
fun-time family relationship marriage boss colleague neighbour neighbor teacher preference opinion
soft-spot habit tendency talent knack gift present surprise word words minute second while story
stories thought thoughts sale sip throat ache pain rash bruise hangover tooth toothache
stomach-ache role position offer deal
picture photo copy audition incident setback picnic tournament competition addition event
project projects exhibition recital reunion mentor surge source sources reminder goal list
attack stroke surgery operation accident crash miscarriage discount refund raise promotion
haircut tan tattoo-appointment checkup check-up scan
"""

NOT_THINGS = frozenset(_WORDS.split())
