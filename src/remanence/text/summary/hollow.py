"""Words that fill a chat without telling anything, and words that only join clauses."""

from __future__ import annotations

_FILLERS = """
wow hey hi hello hiya yo oh ooh ah aw aww um uh hmm hm ha haha hahaha lol lmao omg yeah yea yep
yup yay woah whoa woohoo ok okay well anyway anyways btw nope nah bye goodbye cheers thanks thank
thx welcome congrats congratulations sorry please indeed exactly absolutely totally definitely
certainly sure surely right true really actually basically literally honestly simply truly super
unfortunately luckily fortunately hopefully sadly thankfully finally
quite pretty so very too just kind sort bit lot lots bunch much stuff thing things way one
"""
_OPINIONS = """
great good nice cool awesome amazing wonderful fantastic incredible beautiful gorgeous cute
sweet perfect fine best better fun funny inspiring inspirational impressive exciting
excited happy glad proud thrilled stoked grateful thankful lucky blessed special meaningful
rewarding refreshing powerful tough hard rough bad sad crazy worth kudos props luck bravo
"""
_EMPTY_VERBS = """
know see look looks looking sound sounds sounding hear heard feel feels feeling felt think thought
guess mean means say said tell told talk let lets get gets got getting go goes going gonna make
makes made making keep take takes come comes seem seems hope wish wishing appreciate agree
"""
HOLLOW = frozenset(f"{_FILLERS} {_OPINIONS} {_EMPTY_VERBS}".split())

ADVERBS = (
    "really|just|actually|basically|literally|honestly|definitely|totally|absolutely|super|truly"
    "|simply|finally"
)
JOINERS = "and|but|so|or|then|plus|also|anyway|well|oh|wow|hey|hi|yeah|yes|yep|ok|okay|btw|haha"

_DEPENDENT = """
because since while although though when whenever which who whom whose where that than until unless
if as after before to of for with without by from in into on at about like through during per via
que qui quand parce porque cuando donde mientras weil dass wenn als obwohl da perché quando mentre
"""
DEPENDENT = frozenset(_DEPENDENT.split())
# A clause that opens so is about something said elsewhere, or only about the one who listens.
_UNRESOLVED = """
it its it's that's this that these those they they're he she he's she's you you're you've you'll
your sounds looks glad keep stay
"""
UNRESOLVED = frozenset(_UNRESOLVED.split())
