from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Statement
from remanence.model.knowledge import EntityType, FactKind, Timespan
from remanence.model.predicates import FAVOURITE, PREDICATES

AT = datetime(2023, 5, 10, 15, tzinfo=UTC)
SAM = NamedEntity("Sam", EntityType.PERSON)


def said(text: str) -> list[Statement]:
    return list(read(text, speaker=SAM, at=AT, all=True).statements)


def told(text: str) -> set[str]:
    """Each statement in short; what is over has a dagger."""
    return {
        f"{one.subject.text} | {one.predicate} | {one.value}{' †' if _is_over(one) else ''}"
        for one in said(text)
    }


def _is_over(one: Statement) -> bool:
    return one.ended is not None and (one.ended.start is None or one.ended.start <= AT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Samuel", {"Sam | is named | Samuel"}),
        ("Everyone calls me Gil", {"Sam | is named | Gil"}),
        ("I'm 34 years old", {"Sam | age | 34"}),
        ("Our son just turned four", {"Sam's son | age | 4"}),
        ("My birthday is March 3rd", {"Sam | born on | 3 March"}),
        ("Maria's birthday is 5 June", {"Maria | born on | 5 June"}),
        ("I'm Portuguese", {"Sam | is | Portuguese"}),
        ("my email is sam@example.com", {"Sam | email | sam@example.com"}),
        ("My number has changed: 555-0199", {"Sam | phone | 555-0199"}),
        ("You can reach me on 07700 900123", {"Sam | phone | 07700 900123"}),
    ],
)  # fmt: skip
def test_who_somebody_is(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my sister Maria is here", {"Sam | sister | Maria"}),
        ("Tom's wife Jane is a nurse", {"Tom | married to | Jane", "Jane | works as | nurse"}),
        ("we have two kids, Leo and Mia", {"Sam | child | Leo", "Sam | child | Mia"}),
        ("I've got three brothers: Sean, Pat and Liam",
         {"Sam | brother | Sean", "Sam | brother | Pat", "Sam | brother | Liam"}),
        ("My mom's name is Teresa", {"Sam | mother | Teresa"}),
        ("My brother's called Duarte", {"Sam | brother | Duarte"}),
        ("Jonas is my oldest friend", {"Sam | friend | Jonas"}),
        ("Paulo is Rita's husband", {"Rita | married to | Paulo"}),
        ("I'm Tom's sister", {"Tom | sister | Sam"}),
        ("Clara, my sister, is a lawyer", {"Sam | sister | Clara", "Clara | works as | lawyer"}),
        ("My boss is Karen", {"Sam | boss | Karen"}),
        ("I report to Sandra", set()),
        ("My colleagues Ana and Rui are on holiday",
         {"Sam | colleague | Ana", "Sam | colleague | Rui"}),
        ("Aunt Rosa is here", {"Sam | aunt | Rosa"}),
        ("My ex-husband Bruno is late", {"Sam | married to | Bruno †"}),
        ("I'm married to Sofia", {"Sam | married to | Sofia"}),
        ("I'm engaged to Tom", {"Sam | engaged to | Tom"}),
        ("I'm dating a guy called Marek", {"Sam | dating | Marek"}),
        ("Ana and I got married in 2015", {"Sam | married to | Ana"}),
        ("I'm single", {"Sam | relationship status | single"}),
        ("we broke up", {"Sam | dating |  †"}),
        ("Nina and Max broke up", {"Nina | dating | Max †"}),
        ("We're no longer together", {"Sam | dating |  †"}),
        ("My kids are called Finn and Maeve", {"Sam | child | Finn", "Sam | child | Maeve"}),
        ("Anja is my eldest", {"Sam | child | Anja"}),
        ("My climbing partner Inge is here", set()),
        ("My neighbour Kemal's dog barks", {"Sam | neighbour | Kemal"}),
    ],
)  # fmt: skip
def test_family_and_friends(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Porto", {"Sam | lives in | Porto"}),
        ("i live in pune", {"Sam | lives in | pune"}),
        ("I currently reside in Toronto, Canada", {"Sam | lives in | Toronto"}),
        ("I live in a small village near Graz", {"Sam | lives in | Graz"}),
        ("Ana moved to Lisbon", {"Ana | lives in | Lisbon"}),
        ("Just moved to Bristol!", {"Sam | lives in | Bristol"}),
        ("I moved from Berlin to Vienna",
         {"Sam | lives in | Berlin †", "Sam | lives in | Vienna"}),
        ("I moved out of Leeds", {"Sam | lives in | Leeds †"}),
        ("I don't live in Porto anymore", {"Sam | lives in | Porto †"}),
        ("I used to live in Rome", {"Sam | lives in | Rome †"}),
        ("I live in Porto now, not Lisbon", {"Sam | lives in | Porto"}),
        ("I'm from Brazil but I live in Canada",
         {"Sam | is from | Brazil", "Sam | lives in | Canada"}),
        ("Since moving here I sleep well", set()),
        ("We moved again, this time to Lyon", {"Sam | lives in | Lyon"}),
        ("My new place is in Turin, near the river", {"Sam | lives in | Turin"}),
        ("My flat is in a mess", set()),
        ("I grew up in Ohio", {"Sam | is from | Ohio"}),
        ("I was born in Madrid", {"Sam | born in | Madrid"}),
        ("I'm 27, from Leeds, and I work as a barista",
         {"Sam | age | 27", "Sam | is from | Leeds", "Sam | works as | barista"}),
    ],
)  # fmt: skip
def test_home(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I work at Acme as a designer", {"Sam | works at | Acme", "Sam | works as | designer"}),
        ("My sister works as a translator for the EU",
         {"Sam's sister | works as | translator", "Sam's sister | works at | EU"}),
        ("I'm a software engineer at Spotify",
         {"Sam | works as | software engineer", "Sam | works at | Spotify"}),
        ("Ana's brother works at Google", {"Ana's brother | works at | Google"}),
        ("I got a job at Siemens!", {"Sam | works at | Siemens"}),
        ("She has been hired by Ericsson", set()),
        ("Oleg got promoted to head of logistics", {"Oleg | works as | head of logistics"}),
        ("I left Acme", {"Sam | works at | Acme †"}),
        ("I no longer work at Acme", {"Sam | works at | Acme †"}),
        ("I quit my job", {"Sam | works at |  †"}),
        ("I've left Nokia and joined Ericsson",
         {"Sam | works at | Nokia †", "Sam | works at | Ericsson"}),
        ("As a social worker I see a lot", {"Sam | works as | social worker"}),
        ("Quit Acme, joined Beta", {"Sam | works at | Acme †", "Sam | works at | Beta"}),
        ("My boss, Ingrid, used to work at Shell",
         {"Sam | boss | Ingrid", "Ingrid | works at | Shell †"}),
        ("They made me head of sales", {"Sam | works as | head of sales"}),
        ("Paula isn't with Adria anymore", {"Paula | works at | Adria †"}),
        ("I'm self-employed", {"Sam | works as | self-employed"}),
        ("I'm studying physics at Jena", {"Sam | studies | physics", "Sam | studies at | Jena"}),
        ("Bob has a PhD in physics from MIT",
         {"Bob | has degree | PhD in physics", "Bob | graduated from | MIT"}),
        ("I dropped out of law school", {"Sam | studies at | law school †"}),
    ],
)  # fmt: skip
def test_work_and_study(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I love hiking, swimming and chess",
         {"Sam | likes | hiking", "Sam | likes | swimming", "Sam | likes | chess"}),
        ("I don't like coffee", {"Sam | dislikes | coffee"}),
        ("I've never liked olives", {"Sam | dislikes | olives"}),
        ("I prefer tea to coffee", {"Sam | likes | tea"}),
        ("I'm a huge fan of Radiohead", {"Sam | likes | Radiohead"}),
        ("Rosa is obsessed with crosswords", {"Rosa | likes | crosswords"}),
        ("My favourite colour is blue", {"Sam | favourite colour | blue"}),
        ("Sushi is my favourite food", {"Sam | favourite food | Sushi"}),
        ("My favorite film is Alien, by the way", {"Sam | favourite film | Alien"}),
        ("I used to love horror films, can't watch them any more",
         {"Sam | likes | horror films †"}),
        ("I love it!", set()),
        ("I love your dress", set()),
        ("I'm vegetarian", {"Sam | diet | vegetarian"}),
        ("I've gone vegan", {"Sam | diet | vegan"}),
        ("I'm not a vegetarian anymore", {"Sam | diet | vegetarian †"}),
        ("I don't eat pork", {"Sam | diet | no pork"}),
    ],
)  # fmt: skip
def test_likes(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I bought a red Toyota", {"Sam | has | red Toyota"}),
        ("I have an electric guitar and a ukulele",
         {"Sam | has | electric guitar", "Sam | has | ukulele"}),
        ("I sold my boat", {"Sam | has | boat †"}),
        ("I have a headache", set()),
        ("I have a dog named Rex", {"Sam | has pet | Rex"}),
        ("I have a dog house", {"Sam | has | dog house"}),
        ("My hamster Pixel died", {"Sam | has pet | Pixel †"}),
        ("I speak Spanish and a bit of Catalan",
         {"Sam | speaks | Spanish", "Sam | speaks | Catalan"}),
        ("I play the cello in an orchestra", {"Sam | plays | cello"}),
        ("I stopped playing tennis", {"Sam | plays | tennis †"}),
        ("I joined a choir", {"Sam | member of | choir"}),
        ("I'm allergic to peanuts and shellfish",
         {"Sam | allergic to | peanuts", "Sam | allergic to | shellfish"}),
        ("Ana's asthma got worse", {"Ana | has condition | asthma"}),
        ("I was diagnosed with asthma", {"Sam | has condition | asthma"}),
        ("I take metformin twice a day", {"Sam | takes | metformin"}),
        ("I stopped taking the iron tablets", {"Sam | takes | iron tablets †"}),
        ("I want to learn Japanese", {"Sam | wants to | learn Japanese"}),
        ("My dream is to open a restaurant", {"Sam | wants to | open a restaurant"}),
        ("I'm going to run a marathon", {"Sam | plans to | run a marathon"}),
        ("We're getting married in September", {"Sam | plans to | get married"}),
        ("We're going to Iceland in October", {"Sam | plans to | go to Iceland"}),
        ("We're off to Corsica on Saturday", {"Sam | plans to | go to Corsica"}),
        ("I'd love to see the northern lights", {"Sam | wants to | see the northern lights"}),
        ("Flying to Nairobi on Thursday", {"Sam | plans to | fly to Nairobi"}),
        ("I passed my driving test!", {"Sam | did | passed my driving test"}),
        ("My grandmother died in 2010", {"Sam's grandmother | did | died"}),
    ],
)  # fmt: skip
def test_things_health_plans_and_events(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met Tom yesterday. He lives in Rome.", "Tom | lives in | Rome"),
        ("My sister Ana, who lives in Porto, works at Acme.", "Ana | works at | Acme"),
        ("My sister, who's a dentist, is here", "Sam's sister | works as | dentist"),
        ("My wife Jane works at Acme. My wife loves tea.", "Jane | likes | tea"),
        ("Sunil mentioned that his brother Arjun is a radiologist", "Sunil | brother | Arjun"),
        ("Ana Silva lives in Rome. Ana works at Acme.", "Ana Silva | works at | Acme"),
        ("Ana met Bob. She works at Acme.", "Ana | works at | Acme"),
        ("Tom and Ana moved to Rome", "Ana | lives in | Rome"),
        ("Sam works at Acme", "Sam | works at | Acme"),
    ],
)
def test_whom_it_is_about(text: str, expected: str) -> None:
    assert expected in told(text)


def test_a_pronoun_means_the_only_one_spoken_of_before() -> None:
    bob, eve, ana = (NamedEntity(name, EntityType.PERSON) for name in ("Bob", "Eve", "Ana"))
    text = "She works at Acme"
    one = read(text, speaker=SAM, at=AT, recent=[bob, eve], all=True)
    two = read(text, speaker=SAM, at=AT, recent=[ana, eve], all=True)
    assert [statement.subject for statement in one.statements] == [eve]
    assert two.statements == ()
    assert two.refused == {"no subject": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Do you live in Rome?", "question"),
        ("so where does Ana work these days", "question"),
        ("I wish I lived in Paris", "hypothetical"),
        ("If I get the job, I'll move to Berlin", "hypothetical"),
        ("I might move to Berlin", "hypothetical"),
        ("Maybe I'll become a baker", "hypothetical"),
        ("I was thinking of moving to Ghent", "hypothetical"),
        ("When I move to Rome I'll be happy", "hypothetical"),
        ("I never lived in Paris", "negation"),
        ("I don't have a car", "negation"),
        ("I'm not married", "negation"),
        ("I heard that Piet got fired", "reported"),
        ("People say Ana lives in Rome", "reported"),
        ('He said "I live in Madrid" and laughed', "quoted"),
        ("> I live in Madrid", "quoted"),
        ("```\nI live in Madrid\n```", "code"),
        ("In the novel, Emma lives in Yonville", "story"),
        ("The main character works at a bank", "story"),
        ("Yeah right, I live in a castle", "joke"),
        ("Summarise this: Tom works at Acme. He lives in Kent.", "task"),
        ("Anna: I work at Nokia", "quoted"),
        ("Thanks so much!", "small talk"),
        ("She lives in Rome", "no subject"),
        ("They moved to Rome", "no subject"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    reading = read(text, speaker=SAM, at=AT, all=True)
    assert reading.statements == ()
    assert reason in reading.refused


@pytest.mark.parametrize(
    "text",
    [
        "You live in Rome",
        "I have no idea",
        "I have a meeting tomorrow",
        "I'm so tired today",
        "Remind me to call Ana",
        "Paris is the capital of France",
        "I would like a large cappuccino",
        "Someone I know lives in Rome",
        "People who live in glass houses should not throw stones",
        "It isn't true that I own a boat",
        "Themes like love and friendship matter",
        "",
        "?",
    ],
)
def test_what_says_nothing(text: str) -> None:
    assert said(text) == []


def test_only_the_first_sentences_of_a_long_text_are_read() -> None:
    reading = read("I live in Rome. " * 60, speaker=SAM, at=AT, all=True)
    assert len(reading.statements) == 1
    assert reading.refused["too long"] == 20


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Ana works at Google", 0.8),
        ("I think Ana works at Google", 0.56),
        ("Apparently Ana works at Google", 0.56),
        ("Ana probably works at Google", 0.64),
        ("Tom says that Ana works at Google", 0.48),
    ],
)
def test_hedges_and_hearsay_are_less_sure(text: str, confidence: float) -> None:
    assert [one.confidence for one in said(text)] == [confidence]


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def span(start: str, end: str) -> Timespan:
    return Timespan(start=day(start), end=day(end))


@pytest.mark.parametrize(
    ("text", "began", "ended"),
    [
        ("I live in Rome", None, None),
        ("Last month I moved to Rome", span("2023-04-01", "2023-05-01"), None),
        ("I moved to Rome in 2020", span("2020-01-01", "2021-01-01"), None),
        ("I just moved to Rome", Timespan(end=AT), None),
        ("I've lived in Rome since 2019", span("2019-01-01", "2020-01-01"), None),
        ("I lived in Rome from 2010 to 2014", span("2010-01-01", "2011-01-01"),
         span("2014-01-01", "2015-01-01")),
        ("From 2010 to 2014 I lived in Rome", span("2010-01-01", "2011-01-01"),
         span("2014-01-01", "2015-01-01")),
        ("I lived in Rome until last June", None, span("2022-06-01", "2022-07-01")),
        ("In 2009 I lived in Rome", span("2009-01-01", "2010-01-01"),
         span("2009-01-01", "2010-01-01")),
        ("I used to live in Rome", None, Timespan(end=AT)),
        ("I don't live in Rome anymore", None, Timespan(end=AT)),
        ("I left Rome in March", None, span("2023-03-01", "2023-04-01")),
    ],
)  # fmt: skip
def test_times_are_resolved_from_the_message(
    text: str, began: Timespan | None, ended: Timespan | None
) -> None:
    (one,) = (one for one in said(text) if one.predicate == "lives in")
    assert (one.began, one.ended) == (began, ended)


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("I'm moving to Berlin next month", "lives in"),
        ("I'll start at Beta in June", "works at"),
        ("From Monday I'll be working at Beta", "works at"),
        ("I'm turning 40 next month", "age"),
    ],
)
def test_what_is_to_come_begins_after_the_message(text: str, predicate: str) -> None:
    (one,) = (one for one in said(text) if one.predicate == predicate)
    assert one.began is not None
    assert one.began.start is not None
    assert one.began.start >= AT - timedelta(hours=15)


def test_how_long_something_has_lasted() -> None:
    (one,) = said("We've been living in Ghent for three years")
    assert one.began is not None
    assert one.began.start is not None
    assert one.began.end is not None
    assert one.began.start.year == 2019
    assert one.began.end.year == 2021


@pytest.mark.parametrize(
    "text",
    [
        "My sister Maria lives in Porto and works at Acme as a nurse",
        "I love tea, I have a dog named Rex and I want to learn Japanese",
        "Yesterday I ran a marathon. My favourite food is rice. I'm allergic to nuts.",
    ],
)
def test_predicates_kinds_and_types_are_the_models(text: str) -> None:
    for one in said(text):
        known = PREDICATES.get(one.predicate)
        assert known is not None or one.predicate.startswith(FAVOURITE)
        if known is not None:
            assert one.kind == known.kind
            assert (one.object.type if one.object else None) == known.object
        assert one.sentence in text


def test_an_event_and_a_plan_are_marked_so() -> None:
    kinds = {one.predicate: one.kind for one in said("I ran a marathon. I plan to visit Rome.")}
    assert kinds == {"did": FactKind.EVENT, "plans to": FactKind.PLAN}
