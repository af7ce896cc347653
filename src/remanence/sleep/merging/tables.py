"""Which words say the same, which say the opposite, and which say nothing. English."""

from __future__ import annotations

# One line: words for one thing in one form. The first stands for all; tenses never share a line.
_SAME = """
bought purchased
buy purchase
buying purchasing
moved relocated
move relocate
moving relocating
car automobile
love adore
loves adores
loved adored
like enjoy
likes enjoys
liked enjoyed
hate detest
hates detests
begin start commence
begins starts commences
began started commenced
beginning starting
finished completed
finish complete
big large
small little
kid child
kids children
mom mum mother mommy mummy mama
dad father daddy papa
grandma grandmother granny
grandpa grandfather grandad
apartment flat
doctor physician
film movie
films movies
picture photo photograph pic
pictures photos photographs pics
bike bicycle
bikes bicycles
phone telephone cellphone
tv television telly
fridge refrigerator
store shop
stores shops
vacation holiday
ill sick
happy glad
scared afraid
quick fast
quickly rapidly
hard difficult tough
often frequently regularly
sometimes occasionally
maybe perhaps possibly
now currently presently nowadays
speak talk
speaks talks
spoke talked
speaking talking
said stated
told informed
help assist
helps assists
helped assisted
got received
get receive
need require
needs requires
needed required
build construct
built constructed
make create
makes creates
made created
making creating
repaired fixed
repair fix
choose pick select
chose picked selected
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
programme program
grey gray
intend plan
intends plans
intended planned
approximately roughly
everybody everyone
somebody someone
anybody anyone
people folks
lawyer attorney
will shall
dinner supper
couch sofa
garbage trash rubbish
teacher instructor
colleague coworker workmate
colleagues coworkers
buddy friend pal
buddies friends pals
cab taxi
airplane plane aeroplane
autumn fall
enrolled registered
quit resigned
puppy pup
kitten kitty
"""

# Several words that say what one does; nothing after the sign, and they say nothing.
_PHRASES = """
no longer = notanymore
used to = usedto
have to = must
has to = must
have got = have
has got = has
am going to = will
is going to = will
are going to = will
am planning to = plan
is planning to = plans
are planning to = plan
would like to = want
right now = now
at the moment = now
these days = now
at present = now
a lot of = many
lots of = many
plenty of = many
a couple of = 2
a dozen = 12
each day = every day
each week = every week
each month = every month
each year = every year
daily = every day
weekly = every week
monthly = every month
once a day = every day
once a week = every week
once a month = every month
once a year = every year
work for = work at
works for = works at
worked for = worked at
working for = working at
is a big fan of = loves
am a big fan of = love
are big fans of = love
as well =
of course =
to be honest =
in fact =
you know =
i mean =
by the way =
as it happens =
"""

_NOTHING = """
a an the of in at on to and that it its
am is are be do does have has
just really actually basically literally honestly simply truly quite very so oh ah hey hi hello
wow yeah yep yes ok okay anyway btw haha lol also additionally please
definitely certainly absolutely totally indeed
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
# What may open a part of a sentence that can stand at its beginning as well as at its end.
_LEADING = """
in at on for with during after before since from to when while because if by until near
yesterday today tomorrow tonight last next this every now recently lately sometimes often usually
"""
_PAST_FORMS = """
was were had did been went got bought began came gave took made said told saw met left lost won
found felt kept ran sat spoke stood taught thought wrote broke built caught chose drove ate fell
flew forgot grew heard held hid hurt knew led lent paid rode rang rose sang sold sent shot slept
spent swam threw understood woke wore became brought drank fought froze gotten seen done gone
"""
_FUTURE_FORMS = "will shall tomorrow tonight"

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


SAME = {word: group[0] for group in reversed(_lines(_SAME)) for word in group}
PHRASES = {
    said.strip(): instead.strip()
    for said, instead in (line.split("=") for line in _PHRASES.strip().split("\n"))
}
NOTHING = frozenset(_NOTHING.split())
PERSONS = {word: f"@{group[0]}" for group in _lines(_PERSONS) for word in group}
NEGATIONS = frozenset(_NEGATIONS.split())
POSSIBLE = frozenset(_POSSIBLE.split())
PAST_FORMS = frozenset(_PAST_FORMS.split())
FUTURE_FORMS = frozenset(_FUTURE_FORMS.split())
OPPOSITE = frozenset(frozenset(SAME.get(word, word) for word in pair) for pair in _lines(_OPPOSITE))
LEADING = frozenset(_LEADING.split())
