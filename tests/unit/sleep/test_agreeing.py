"""Two texts are one memory only if they say the same; when in doubt they are two."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remanence.sleep.merging.agreeing import Telling, against, agrees, may_agree
from remanence.sleep.merging.wording import plain, worded

AT = datetime(2024, 5, 3, 12, tzinfo=UTC)

TUNED_SAME = [
    ("I moved to Lisbon", "I relocated to Lisbon"),
    ("Ana bought a new car", "Ana purchased a new car"),
    ("I really love hiking in the mountains", "I love hiking in the mountains!"),
    ("My favourite colour is green", "my favorite color is green"),
    ("I don't eat meat", "I do not eat meat"),
    ("In Lisbon I bought a house", "I bought a house in Lisbon"),
    ("Tom has 2 dogs", "Tom has two dogs"),
    ("I'm working at Acme", "I work for Acme"),
    ("My sister lives in Porto", "My sister is living in Porto"),
    ("After lunch I walk home", "I walk home after lunch"),
    ("I am going to visit Rome", "I will visit Rome"),
    ("Our kids started school", "Our children began school"),
    ("She goes to the gym every day", "She goes to the gym daily"),
    ("I have got a bike", "I've a bicycle"),
    ("Honestly, I hate mushrooms", "I detest mushrooms"),
    ("The meeting costs 1,200 euros", "The meeting costs 1200 euros"),
    ("I'd like to learn Spanish", "I want to learn Spanish"),
    ("He no longer drinks coffee", "He no longer drinks coffee."),
    ("Please call me at 10:00", "please call me at 10"),
    ("I have to see the doctor", "I must see the physician"),
    ("Ana took a photo of the old bridge", "Ana took a picture of the old bridge"),
    ("Remember that I'm allergic to peanuts", "remember, I am allergic to peanuts"),
]
TUNED_OTHER = [
    ("I moved to Lisbon", "I moved to Porto"),
    ("I bought a red car", "I bought a blue car"),
    ("I love hiking", "I hate hiking"),
    ("I love hiking", "I love biking"),
    ("I eat meat", "I don't eat meat"),
    ("I have two dogs", "I have three dogs"),
    ("I have a dog", "I have dogs"),
    ("I work at Acme", "I worked at Acme"),
    ("I will visit Rome", "I visited Rome"),
    ("I will visit Rome", "I might visit Rome"),
    ("I want to learn Spanish", "I learn Spanish"),
    ("Is the meeting on Monday?", "The meeting is on Monday."),
    ("Ana loves Tom", "Tom loves Ana"),
    ("I flew from Paris to Rome", "I flew from Rome to Paris"),
    ("He left the company", "He joined the company"),
    ("I take the pill before dinner", "I take the pill after dinner"),
    ("She lives in Porto", "He lives in Porto"),
    ("My brother is a nurse", "My sister is a nurse"),
    ("I used to smoke", "I smoke"),
    ("I prefer tea over coffee", "I prefer coffee over tea"),
    ("I like Apple", "I like apple"),
    ("The dog bit the man", "The man bit the dog"),
    ("I lent Ben ten euros", "I borrowed ten euros from Ben"),
    ("I went hiking", "I went hiking with the dog"),
    ("Always lock the door", "Never lock the door"),
    ("Everyone passed the exam", "Nobody passed the exam"),
    ("I almost bought a house", "I bought a house"),
    ("The train leaves at 10:30", "The train leaves at 10:45"),
    ("I eat and then walk", "I walk and then eat"),
    ("Only Ana knows", "Ana knows"),
]
KEPT_SAME = [
    ("We adopted a puppy", "we adopted a pup"),
    ("I'm afraid of heights", "I am scared of heights"),
    ("My mum is a teacher", "My mother is a teacher"),
    ("Every week I call my grandma", "I call my grandmother weekly"),
    ("I've finished the report", "I have completed the report"),
    ("They don't own a TV", "They do not own a television"),
    ("On Fridays we watch a movie", "We watch a film on Fridays"),
    ("Actually I speak German", "I speak German"),
    ("Maria can't swim", "Maria can not swim"),
    ("The flat has twenty-five windows", "The apartment has 25 windows"),
    ("Ben is a big fan of jazz", "Ben loves jazz"),
    ("I need a new phone", "I really need a new phone"),
    ("He frequently visits his dad", "He often visits his father"),
    ("She got the letter", "She received the letter"),
    ("My neighbour plays the violin", "My neighbor plays the violin"),
    ("I enjoy cooking for friends", "I like cooking for friends"),
    ("You must restart the server", "You have to restart the server"),
    ("I wake up early", "I get up early"),
    ("The shop closes at six", "The store shuts at 6"),
    ("Ana is employed by Acme", "Ana works at Acme"),
    ("Rita speaks five languages", "Rita knows 5 languages"),
    ("I can't stand cold weather", "I hate cold weather"),
]
KEPT_OTHER = [
    ("We adopted a puppy", "We adopted a kitten"),
    ("The flight is at 7 am", "The flight is at 7 pm"),
    ("My budget is 500 euros", "My budget is 500 dollars"),
    ("I can swim", "I can't swim"),
    ("Ben should call Ana", "Ben called Ana"),
    ("He thinks the shop is closed", "The shop is closed"),
    ("If it rains we stay home", "We stay home"),
    ("The shop is open on Sunday", "The shop is open on Saturday"),
    ("I gave Ana a book", "Ana gave me a book"),
    ("I forgot the keys", "I remembered the keys"),
    ("Take 5 mg of the medicine", "Take 50 mg of the medicine"),
    ("The password starts with 7", "The password ends with 7"),
    ("I'm allergic to peanuts", "I'm not allergic to peanuts"),
    ("My mother lives with us", "My father lives with us"),
    ("I was born in 1985", "I was born in 1986"),
    ("Ana beat Tom at chess", "Tom beat Ana at chess"),
    ("All tests passed", "Some tests passed"),
    ("I drink coffee without sugar", "I drink coffee with sugar"),
    ("The office is on the third floor", "The office is on the fourth floor"),
    ("I have lived in Rome", "I live in Rome"),
    ("I hope to run a marathon", "I run a marathon"),
    ("Turn the heating on", "Turn the heating off"),
    ("Could you book a table?", "You booked a table."),
    ("Ana's sister is ill", "Ana is ill"),
    ("The blue team won", "The blue team lost"),
    ("I paid Ben", "Ben paid me"),
    ("We meet at the north gate", "We meet at the south gate"),
    ("She stopped smoking", "She started smoking"),
    ("The server has 16 GB", "The server has 16 TB"),
    ("Will left the band", "Bill left the band"),
    ("I like my job more than you do", "You like your job more than I do"),
    ("Call me after work", "Call me at work"),
    ("Nearly all guests came", "All guests came"),
    ("I'd rather walk than drive", "I'd rather drive than walk"),
]


def said(text: str, at: datetime = AT) -> Telling:
    return Telling(text, at)


@pytest.mark.parametrize("pair", [*TUNED_OTHER, *KEPT_OTHER], ids=lambda pair: pair[0])
def test_what_differs_stays_two_memories(pair: tuple[str, str]) -> None:
    one, other = map(said, pair)
    assert not agrees(one, other)
    assert not agrees(other, one)


@pytest.mark.parametrize("pair", TUNED_SAME, ids=lambda pair: pair[0])
def test_the_same_in_other_words_is_one_memory(pair: tuple[str, str]) -> None:
    one, other = map(said, pair)
    assert agrees(one, other)
    assert agrees(other, one)
    assert may_agree(one, other)


def test_of_pairs_never_tuned_on_most_are_recognised() -> None:
    """What is missed needs understanding ("gets up", "wakes up"); missing loses nothing."""
    right = [pair for pair in KEPT_SAME if agrees(*map(said, pair))]
    assert len(right) >= 0.7 * len(KEPT_SAME)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("I have 3 cats", "I have 4 cats", "numbers"),
        ("I met Ana there", "I met Eva there", "names"),
        ("I like tea", "I do not like tea", "denies"),
        ("I like tea", "I like tea?", "asks"),
        ("I will come", "I may come", "certain"),
        ("I sing", "You sing", "persons"),
        ("I play chess", "I played chess", "over"),
        ("The tea is hot", "The tea is cold", "opposite"),
    ],
)
def test_the_reason_is_named(one: str, other: str, reason: str) -> None:
    assert reason in str(against(said(one), said(other)))


def test_yesterday_is_another_day_on_another_day() -> None:
    text = "I saw the doctor yesterday"
    assert agrees(said(text), said(text, AT + timedelta(hours=2)))
    assert against(said(text), said(text, AT + timedelta(days=1))) is not None
    dated = "I saw the doctor on 2 May 2024"
    assert agrees(said(dated), said(dated, AT + timedelta(days=1)))


def test_every_time_that_is_said_counts() -> None:
    text = "On 1 May 2024 I decided to leave tomorrow"
    assert against(said(text), said(text, AT + timedelta(days=1))) is not None


def test_a_text_that_was_typed_twice_is_plainly_the_same() -> None:
    assert plain("  I LIKE tea!! ") == plain("i like tea")
    assert plain("👍") != plain("👎")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("twenty-five", "25"),
        ("three hundred five", "305"),
        ("ninety nine thousand", "99000"),
        ("1,200", "1200"),
        ("the 3rd", "3"),
    ],
)
def test_numbers_are_compared_as_digits(text: str, number: str) -> None:
    assert [word.form for word in worded(text).words] == [number]


def test_a_moved_phrase_is_the_same_but_moved_words_are_not() -> None:
    assert agrees(said("With Ana I went to Rome"), said("I went to Rome with Ana"))
    assert not agrees(said("I cook and Ana eats"), said("Ana eats and I cook"))
    assert not agrees(said("Rome is older than Oslo"), said("Oslo is older than Rome"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My password is aBc9", "my password is abc9"),
        ("Write to ana@x.org", "write to ana@x.com"),
        ("It is -5 degrees outside", "It is 5 degrees outside"),
        ("Take 1,5 kg of flour", "Take 15 kg of flour"),
        ("Alert if load > 5", "Alert if load < 5"),
        ("I love Mondays 🙄", "I love Mondays 😍"),
        ("We run version 1.2", "We run version 12"),
    ],
)
def test_every_character_of_a_code_or_number_counts(one: str, other: str) -> None:
    assert not agrees(said(one), said(other))


def test_a_model_may_not_swap_people_either() -> None:
    assert not may_agree(said("Yesterday Ana paid Ben"), said("Yesterday Ben paid Ana"))
