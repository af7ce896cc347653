"""A simulated user with words of their own: memories in plain names, questions in nicknames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# A thing's plain name and what its owner calls it when asking.
PROJECTS = {
    "Harbour Logistics": "the whale",
    "the Nordwind rollout": "snowball",
    "Kestrel Analytics": "birdie",
    "the payroll migration": "old faithful",
    "Orchard Health": "the applecart",
    "the tram simulator": "ding dong",
    "Mirabel Ceramics": "mudpie",
    "the tax archive": "dungeon",
    "Solvane Energy": "sunny side",
    "the museum guide": "dusty",
}
PEOPLE = {
    "Marguerite Oduya": "the colonel",
    "Tobias Lindqvist": "viking",
    "Priya Raman": "sparkplug",
    "Emeka Balogun": "big bear",
    "Hanna Vogel": "owlet",
    "Dario Conti": "maestro",
    "Yuki Tanabe": "pixel",
    "Leonard Price": "grumbles",
    "Soraya Haddad": "compass",
    "Wiktor Nowak": "turbo",
    "Celeste Moreau": "velvet",
    "Ruben Castellano": "spud",
}
PLACES = {
    "the Larkin Street office": "the cave",
    "Bistro Almendra": "grandma",
    "the Velden swimming hall": "the puddle",
    "the Ostermann workshop": "toyland",
    "the cabin at Lake Irve": "hideout",
    "Café Tirol": "the library",
    "the Quay Nine gym": "torture",
    "the Belmont allotment": "jungle",
}
HABITS = {
    "morning rowing": "galley duty",
    "cello practice": "sawing",
    "the Portuguese lessons": "parrot time",
    "the sourdough baking": "bubbles",
    "the pension paperwork": "gravestone",
    "the chess evening": "battlefield",
    "the physiotherapy": "bending",
    "the book circle": "owls and wine",
}

# By intent: how a memory tells it, how it is asked while learning, and in a new sentence later on.
# {n} is the name, {v} a value that differs from thing to thing.
Intent = tuple[str, str, str]
TOLD: Mapping[str, Mapping[str, Intent]] = {
    "project": {
        "deadline": (
            "We promised {n} the final delivery on {v}",
            "when is the final delivery for {n} due",
            "what date did we promise to hand over {n}",
        ),
        "budget": (
            "The budget that was approved for {n} is {v} thousand euros",
            "how large is the approved budget of {n}",
            "how much money do we have for {n}",
        ),
        "lead": (
            "{v} took over as lead on {n} last spring",
            "who leads {n}",
            "who is in charge of {n} these days",
        ),
        "problem": (
            "The worst problem with {n} turned out to be {v}",
            "what was the worst problem with {n}",
            "what went wrong on {n}",
        ),
        "tool": (
            "For {n} the team settled on {v} to build the reports",
            "which software builds the reports for {n}",
            "what do we make reports with on {n}",
        ),
        "meeting": (
            "The standing call about {n} happens on {v}",
            "which day is the standing call about {n}",
            "when do we usually talk about {n}",
        ),
        "contact": (
            "Our contact for invoices at {n} is called {v}",
            "who handles the invoices at {n}",
            "whom do I send the bill for {n} to",
        ),
        "lesson": (
            "After the review of {n} we agreed never again to {v}",
            "what did we agree never to do again after {n}",
            "which mistake from {n} must not be repeated",
        ),
    },
    "person": {
        "job": (
            "{n} now works as a {v} in the old town",
            "what is the job of {n}",
            "how does {n} earn a living",
        ),
        "home": (
            "{n} grew up in {v} before moving here",
            "where did {n} grow up",
            "which town is {n} from",
        ),
        "gift": (
            "{n} said a {v} would be the perfect present",
            "what present would {n} like",
            "gift idea for {n}",
        ),
        "food": (
            "{n} cannot eat {v} because of an allergy",
            "which food is {n} allergic to",
            "what must I leave out when cooking for {n}",
        ),
        "pet": (
            "At home {n} keeps a {v}",
            "which animal does {n} keep",
            "what pet has {n} got",
        ),
        "hobby": (
            "Most weekends {n} goes {v}",
            "what does {n} do at the weekend",
            "how does {n} spend free time",
        ),
        "debt": (
            "I still owe {n} for the {v}",
            "what do I owe {n} for",
            "which debt to {n} is still open",
        ),
        "plan": (
            "Next year {n} wants to {v}",
            "what does {n} want to do next year",
            "any big plans of {n}",
        ),
    },
    "place": {
        "hours": (
            "{n} closes at {v} on weekdays",
            "when does {n} close",
            "until what time can I be at {n}",
        ),
        "code": (
            "The door code for {n} changed to {v}",
            "what is the door code at {n}",
            "which number opens {n}",
        ),
        "seat": (
            "My favourite spot at {n} is by the {v}",
            "where is my favourite spot at {n}",
            "where do I like to sit at {n}",
        ),
        "met": (
            "It was at {n} that I first met {v}",
            "whom did I first meet at {n}",
            "which friendship began at {n}",
        ),
        "price": (
            "A yearly pass for {n} costs {v} euros",
            "how much is a yearly pass for {n}",
            "what do I pay each year for {n}",
        ),
        "lost": (
            "I left my {v} behind at {n} in March",
            "what did I leave behind at {n}",
            "which of my things was forgotten at {n}",
        ),
        "bus": (
            "The quickest way to {n} is bus {v}",
            "which bus goes to {n}",
            "how do I get to {n} quickly",
        ),
        "rule": (
            "At {n} nobody is allowed to {v}",
            "what is not allowed at {n}",
            "what is forbidden at {n}",
        ),
    },
    "habit": {
        "day": (
            "I moved {n} to {v} this season",
            "on which day is {n}",
            "when in the week do I do {n}",
        ),
        "partner": (
            "{v} comes along to {n} most of the time",
            "who comes along to {n}",
            "whom do I share {n} with",
        ),
        "gear": (
            "For {n} I bought a new {v}",
            "what did I buy for {n}",
            "which equipment did {n} need",
        ),
        "goal": (
            "My aim with {n} is to {v} by autumn",
            "what is my aim with {n}",
            "what do I want to reach through {n}",
        ),
        "cost": (
            "Every month {n} costs me {v} euros",
            "what does {n} cost me each month",
            "how expensive is {n}",
        ),
        "began": (
            "I began with {n} because of {v}",
            "why did I begin with {n}",
            "what got me into {n}",
        ),
        "trouble": (
            "The hardest part of {n} is {v}",
            "what is the hardest part of {n}",
            "what do I struggle with in {n}",
        ),
        "teacher": (
            "The one who taught me {n} is {v}",
            "who taught me {n}",
            "from whom did I learn {n}",
        ),
    },
}
VALUES: Mapping[str, str] = {
    "deadline": "the 3rd of May|the 19th of June|the last Friday of July|the 8th of August|"
    "the 30th of September|the 11th of October|the 2nd of November|the 21st of January|"
    "the 14th of February|the 27th of March",
    "budget": "40|65|90|120|150|210|275|330|480|520",
    "lead": "Ingrid|Samuel|Noor|Pavel|Beatrice|Olu|Greta|Mateo|Fiona|Anders",
    "problem": "a slow supplier|missing licences|two broken servers|a wrong currency|"
    "an angry landlord|unreadable scans|a lost contract|late customs papers|a leaking roof|"
    "double bookings",
    "tool": "Tableau|a Ruby script|plain spreadsheets|Grafana|LaTeX|Metabase|a Perl job|Qlik|"
    "Jupyter|an Access database",
    "meeting": "Monday at nine|Tuesday at four|Wednesday at noon|Thursday at eight|Friday at ten|"
    "Monday at three|Tuesday at eleven|Wednesday at five|Thursday at two|Friday at one",
    "contact": "Mrs Abelson|Mr Quist|Mrs Farrow|Mr Dunne|Mrs Ilves|Mr Saito|Mrs Prado|Mr Kroll|"
    "Mrs Whitby|Mr Zeller",
    "lesson": "skip the pilot|hire without references|ship on a Friday|trust verbal orders|"
    "share one password|forget the insurance|print before proofreading|drop the backups|"
    "ignore the union|sign without the annex",
    "job": "locksmith|midwife|piano tuner|surveyor|pharmacist|stage designer|beekeeper|notary|"
    "tram driver|translator|carpenter|optician",
    "home": "Aarhus|Porto|Cork|Lodz|Trieste|Ghent|Bergen|Kaunas|Graz|Malmö|Leeds|Split",
    "gift": "fountain pen|bonsai|cast iron pan|star map|record player|wool blanket|teapot|kite|"
    "field guide|chess clock|hand lens|harmonica",
    "food": "walnuts|shellfish|celery|lupins|kiwi|sesame|mustard|buckwheat|peaches|soy|eggs|rye",
    "pet": "tortoise|blind greyhound|pair of canaries|ferret|corn snake|three-legged cat|"
    "hedgehog|parakeet|rabbit|goldfish|old donkey|gecko",
    "hobby": "geocaching|bell ringing|kayaking|mushroom hunting|fencing|stargazing|bouldering|"
    "to auctions|caving|birdwatching|to flea markets|sailing",
    "debt": "concert tickets|ferry crossing|plumber|birthday cake|car repair|train fare|paint|"
    "lawyer's letter|wedding flowers|tent|parking fine|firewood",
    "plan": "open a bakery|cycle to Istanbul|learn sign language|buy a houseboat|go back to school|"
    "adopt a child|run for mayor|restore a chapel|move to Crete|write a cookbook|retire|"
    "plant a vineyard",
    "hours": "six|half past seven|eight|nine|ten|quarter to five|eleven|midnight",
    "code": "4471|9032|1186|7750|2693|8814|3407|5529",
    "seat": "stove|north window|fig tree|back stairs|piano|aquarium|lamp|fountain",
    "met": "Ottoline|Bram|Kasia|Jorge|Mei|Halvard|Zeynep|Aurelio",
    "price": "310|95|480|150|720|60|260|205",
    "lost": "umbrella|reading glasses|blue scarf|hearing aid|keys|sketchbook|thermos|gloves",
    "bus": "14|72|5|31|88|26|9|63",
    "rule": "whistle|bring dogs|take photographs|wear shoes|use a phone|smoke|cook fish|park vans",
    "day": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|every second Monday",
    "partner": "Ottilie|Cousin Frank|Mr Bakker|Ines|my neighbour|Aunt Rosa|Jules|Kofi",
    "gear": "headlamp|metronome|notebook|proofing basket|filing box|folding table|foam roller|"
    "reading stand",
    "goal": "win a cup|play a duet|order dinner without help|sell at the market|be finished|"
    "reach 1800 points|climb stairs again|read Proust",
    "cost": "18|75|44|12|30|9|110|22",
    "began": "a bet|my grandfather|a film|a power cut|a letter from the state|a rainy holiday|"
    "the accident|a train delay",
    "trouble": "the cold|shifting to thumb position|nasal vowels|the timing|the forms|endgames|"
    "patience|finding a quiet evening",
    "teacher": "Mr Holm|Madame Giraud|Senhora Pires|the baker downstairs|a clerk named Udo|"
    "Uncle Piet|Doctor Amsel|my sister-in-law",
}
KINDS = {"project": PROJECTS, "person": PEOPLE, "place": PLACES, "habit": HABITS}

# The same words in their plain sense: what was learned must not get in their way.
PLAIN_SENSE = (
    ("We saw a whale beside the ferry off Tromsø", "where did we see a whale?"),
    ("The children built a snowball as high as the gate", "who built a snowball?"),
    ("The cave near Postojna was flooded when we visited", "which cave was flooded?"),
    ("My grandma was born in a village near Łomża", "where was my grandma born?"),
    ("The town library lends out musical instruments", "what does the town library lend out?"),
    ("The jungle film bored everybody after an hour", "how was the jungle film?"),
    ("Our neighbour sells velvet curtains", "who sells velvet curtains?"),
    ("The compass in the old boat points to the east", "what is wrong with the compass?"),
    ("A viking ship was found under the car park", "where was the viking ship found?"),
    ("The maestro of the opera resigned in protest", "why did the opera's maestro resign?"),
    ("A puddle in the cellar froze over", "what happened to the puddle in the cellar?"),
    ("The dungeon of the castle is closed for repairs", "is the castle dungeon open?"),
)


@dataclass(frozen=True, slots=True)
class Told:
    """A memory, and how it is asked for: in private words (twice) and in plain ones."""

    thing: str
    intent: str
    text: str
    learning: str
    later: str
    plain: str


def memories() -> Iterator[Told]:
    """Every memory of the user."""
    for kind, things in KINDS.items():
        for number, (name, nickname) in enumerate(things.items()):
            for intent, (told, learning, later) in TOLD[kind].items():
                values = VALUES[intent].split("|")
                text = told.format(n=name, v=values[number % len(values)])
                yield Told(
                    thing=name,
                    intent=intent,
                    text=text[0].upper() + text[1:] + ".",
                    learning=_asked(learning, nickname),
                    later=_asked(later, nickname),
                    plain=_asked(later, name),
                )


def _asked(question: str, name: str) -> str:
    text = question.format(n=name)
    return text[0].upper() + text[1:] + "?"
