"""What people play: instruments, sports and games, in small letters."""

from __future__ import annotations

_INSTRUMENTS = """
piano guitar violin fiddle cello drums drum bass flute clarinet saxophone sax trumpet trombone harp
ukulele banjo accordion harmonica organ viola oboe keyboard keyboards mandolin recorder bassoon tuba
horn bagpipes sitar harpsichord percussion lute marimba xylophone
"""
_SPORTS = """
tennis football soccer basketball volleyball chess badminton rugby cricket golf hockey baseball
squash handball padel poker bridge lacrosse softball pool darts checkers go snooker billiards
netball pickleball table-tennis ping-pong mahjong backgammon scrabble minecraft fortnite bingo
"""

GAMES = frozenset([*_INSTRUMENTS.split(), *_SPORTS.split()])
