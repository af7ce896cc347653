"""Which words say the same, which say the opposite, and which say nothing. English."""

from __future__ import annotations

# One line: words for one thing in one form. The first stands for all; tenses never share a line.
# Words that can also mean something else are not here (a flat, a fall, a picture, "got", "hard").
_SAME = """
a an
bought purchased
buy purchase
buying purchasing
car automobile
cars automobiles
love adore
loves adores
loved adored
likes enjoys
liked enjoyed
hate detest
hates detests
hated detested
begin start commence
begins starts commences
began started commenced
big large
kids children
mother mum mom mommy mummy mama
father dad daddy papa
grandmother grandma granny
grandfather grandpa grandad
photo photograph
photos photographs
tv television telly
fridge refrigerator
phone telephone
often frequently
sometimes occasionally
maybe perhaps possibly
now currently
need require
needs requires
build construct
built constructed
repaired fixed
repair fix
choose select
chose selected
allow permit
allows permits
live reside
lives resides
lived resided
living residing
favourite favorite
colour color
neighbour neighbor
neighbours neighbors
centre center
theatre theater
grey gray
everybody everyone
somebody someone
anybody anyone
lawyer attorney
couch sofa
garbage trash
colleague coworker workmate
colleagues coworkers workmates
airplane aeroplane
puppy pup
"""

# Several words that say what others do; each is a pattern.
_PHRASES = r"""
no longer = notanymore
(?<!am )(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )(?<!been )(?<!get )(?<!got )used to = usedto
(?:have|has) to(?! (?:be|have)\b) = must
have got(?= (?:an?|the|my|your|his|her|our|their|no|two|three|four|five|[0-9]+)\b) = have
has got(?= (?:an?|the|my|your|his|her|our|their|no|two|three|four|five|[0-9]+)\b) = has
(?:am|is|are) going to(?! (?:work|sleep|bed|lunch|dance|church|school|town|court|sea)\b) = will
(?:am|are) planning to = plan to
is planning to = plans to
would like to = want to
at the moment = now
at present = now
lots of = a lot of
afraid of = scared of
(?:(?<=i )|(?<=we )|(?<=you )|(?<=they )|(?<=do not )|(?<=does not ))enjoy = like
moved to = relocated to
move to = relocate to
moving to = relocating to
(?:each day|daily) = every day
(?:each week|weekly) = every week
(?:each month|monthly) = every month
each year = every year
"""

# Short forms that can mean one thing only; "he's lost" and "I'd put" could be two.
_SHORT = r"""
can(?:'t|not) = can not
won't = will not
shan't = shall not
(\w+)n't = \1 not
i'm = i am
(\w+)'re = \1 are
(\w+)'ve = \1 have
(\w+)'ll = \1 will
(\w+)'d(?= (?:like|love|rather|prefer)\b) = \1 would
(it|that|he|she|there)'s(?= (?:an?|the|my|your|our|so|very|too|in|at|going)\b) = \1 is
"""

# What a sentence may open with and say nothing by it, with a comma or without one.
_OPENING = "honestly actually btw anyway wow yeah yep ah"
_OPENING_WITH_COMMA = "well hey hi hello ok okay so basically oh"
_BARE = "actually honestly"  # says nothing anywhere, unless something is denied, doubted or limited
# What "really" before it does not change; before an adjective it does.
_AFTER_REALLY = """
am is are was were have has had love loves loved like likes liked hate hates hated
"""

# What gives a short message no meaning of its own.
_SLIGHT = """
a an the of in at on to and that it its am is are be do does have has just really actually
basically literally honestly simply truly quite very so oh ah hey hi hello wow yeah yep yes ok okay
anyway btw haha lol also additionally please definitely certainly absolutely totally indeed
"""

_PERSONS = """
i me my mine myself
we us our ours ourselves
you your yours yourself yourselves
he him his himself
she her hers herself
they them their theirs themselves
"""

_NEGATIONS = """
not no never none nobody nothing nowhere neither nor without hardly barely scarcely rarely seldom
notanymore anymore except fail fails failed refuse refuses refused avoid avoids avoided lack lacks
lacked deny denies denied unable stop stops stopped quit quits cancelled canceled cancel
"""
_POSSIBLE = """
may might maybe perhaps possibly probably likely unlikely could would should must can cannot will
shall want wants wanted wish wishes wished hope hopes hoped plan plans planned intend intends
intended think thinks thought guess guesses believe believes believed seem seems seemed if unless
whether try tries tried trying almost nearly supposed consider considers considered considering
usedto need needs needed ought expect expects expected rumour rumor allegedly apparently dream
dreams dreamed
"""
_PAST_FORMS = """
was were had did been went got bought began came gave took made said told saw met left lost won
found felt kept ran sat spoke stood taught thought wrote broke built caught chose drove ate fell
flew forgot grew heard held hid hurt knew led lent paid rode rang rose sang sold sent shot slept
spent swam threw understood woke wore became brought drank fought froze gotten seen done gone
"""
_FUTURE_FORMS = "will shall tomorrow tonight"

# How much or how many, how far it reaches, from when to when: none of them may differ.
_SCOPE = """
all some most any every each both half several few fewer many much little more less least only
also even too just still already yet until till since by about around over under above below
before after during within this that these those other another same enough exactly
"""
# Units of which each has its turn: "every week" may stand at either end of a sentence.
_UNITS = """
day week month year morning afternoon evening night weekend spring summer autumn winter
monday tuesday wednesday thursday friday saturday sunday
"""
# A sentence with one of these may say of two things when they are.
_CLAUSES = """
that who whom which what when where while because than as and but or so said say says saying told
tell tells heard hear hears know knows knew promised promise decided decide asked ask asks agreed
remember remembers remembered forgot want wants wanted hope hopes hoped saw see sees
"""
_GOES = """
go goes went come comes came drive drives drove fly flies flew walk walks walked travel travels
"""
_ACRONYMS = "it us who aids"  # where all is in capitals nobody knows what they are
# Words that are names with a capital and something else without.
_HOMOGRAPHS = """
apple amazon windows word excel teams slack zoom target gap shell chase python java
rust swift go meta oracle notion signal orange subway pixel galaxy drive edge turkey china chile
guinea georgia jordan reading nice bath cork mobile march august polish rose grace hope
faith joy amber ruby mark bill jack frank pat rob art guy dean page drew grant miles rich
sue dawn heather iris ivy jade lily olive pearl violet daisy penny ray gene victor wade chuck
"""
# Of what is told with one of these every character counts.
_SECRETS = """
password passwords passcode passphrase pin code codes key keys token tokens secret username login
user account email mail address handle url link iban serial licence license id wifi ssid
passwort kennwort contraseña senha пароль
"""

# Either of these in the one text and the other in the other: they do not say the same.
_OPPOSITE = """
love hate
loves hates
loved hated
like dislike
likes dislikes
liked disliked
like hate
likes hates
love dislike
left joined
leave join
left arrived
before after
bought sold
buy sell
start stop
started stopped
started finished
begin end
began ended
first last
open close
opened closed
won lost
win lose
found lost
up down
in out
into from
to from
on off
over under
above below
inside outside
hot cold
warm cool
happy sad
good bad
better worse
best worst
big small
tall short
long short
old young
old new
early late
earlier later
more less
more fewer
many few
most least
all some
all none
always sometimes
always never
often rarely
everyone nobody
married divorced
married single
hired fired
accepted rejected
accepted declined
passed failed
pass fail
lent borrowed
lend borrow
gave took
gave received
give take
give get
sent received
sent got
came went
come go
increased decreased
increase decrease
rose fell
gained lost
healthy ill
safe dangerous
cheap expensive
easy hard
easy difficult
rich poor
full empty
alive dead
born died
left right
north south
east west
morning evening
morning afternoon
morning night
day night
weekday weekend
summer winter
spring autumn
brother sister
mother father
son daughter
husband wife
boyfriend girlfriend
uncle aunt
nephew niece
boy girl
man woman
men women
mom dad
grandma grandpa
cat dog
puppy kitten
tea coffee
red blue
red green
black white
yesterday today
yesterday tomorrow
today tomorrow
last next
with without
for against
public private
win draw
remember forget
remembered forgot
agree disagree
agrees disagrees
agreed disagreed
allowed forbidden
possible impossible
can cannot
true false
right wrong
enable disable
enabled disabled
add remove
added removed
include exclude
"""


def _lines(table: str) -> list[list[str]]:
    return [line.split() for line in table.split("\n") if line.strip()]


def _pairs(table: str) -> list[tuple[str, str]]:
    lines = (line.rpartition(" = ") for line in table.strip().split("\n"))
    return [(said, instead) for said, _, instead in lines]


SAME = {word: group[0] for group in reversed(_lines(_SAME)) for word in group}
PHRASES = _pairs(_PHRASES)
SHORT = _pairs(_SHORT)
OPENING = _OPENING.split()
OPENING_WITH_COMMA = _OPENING_WITH_COMMA.split()
BARE = frozenset(_BARE.split())
AFTER_REALLY = frozenset(_AFTER_REALLY.split())
SLIGHT = frozenset(_SLIGHT.split())
PERSONS = {word: f"@{group[0]}" for group in _lines(_PERSONS) for word in group}
NEGATIONS = frozenset(_NEGATIONS.split())
POSSIBLE = frozenset(_POSSIBLE.split())
PAST_FORMS = frozenset(_PAST_FORMS.split())
FUTURE_FORMS = frozenset(_FUTURE_FORMS.split())
OPPOSITE = frozenset(frozenset(SAME.get(word, word) for word in pair) for pair in _lines(_OPPOSITE))
SCOPE = frozenset(_SCOPE.split())
UNITS = frozenset(_UNITS.split())
CLAUSES = frozenset(_CLAUSES.split())
GOES = frozenset(_GOES.split())
ACRONYMS = frozenset(_ACRONYMS.split())
HOMOGRAPHS = frozenset(_HOMOGRAPHS.split())
SECRETS = frozenset(_SECRETS.split())
