"""Extractive summaries: what is kept, what never is, how long, and what hostile text can do."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.language.summary import Said, Summary, summarise
from remanence.language.summary.clauses import bare, sentences
from remanence.language.summary.facts import fact_words, known_words
from remanence.language.summary.turns import cleaned

TALK = [
    Said("Ana", "Hey Tom! How are you? I moved to Lisbon in March and it's been great!"),
    Said("Tom", "Wow, that's great! I'm so happy for you, Ana!"),
    Said("Ana", "Thanks, Tom! I really love my new job at Acme, my boss Irene is super nice."),
    Said("Tom", "Cool. We decided to sell the house for 320,000 euros, finally."),
    Said("Ana", "Yeah, I moved to Lisbon in March, as I said. Amazing!"),
    Said("Tom", "How long is the lease?"),
    Said("Ana", "Two years."),
]


def day(number: int) -> datetime:
    return datetime(2024, 5, number, 12, tzinfo=UTC)


def test_what_carries_names_dates_numbers_decisions_and_tastes_is_kept() -> None:
    text = summarise(TALK, 400).text
    for kept in ("Lisbon in March", "Acme", "Irene", "320,000 euros", "decided to sell", "love"):
        assert kept in text


def test_small_talk_and_repetition_never_are() -> None:
    text = summarise(TALK, 1000).text
    for filler in ("Wow", "great", "Hey", "Thanks", "Cool", "Amazing", "happy", "super", "really"):
        assert filler not in text
    assert text.count("Lisbon") == 1


def test_one_line_a_speaker_in_order_without_a_leading_i() -> None:
    assert summarise(TALK, 160).text.splitlines() == [
        "Ana: moved to Lisbon in March; love my new job at Acme, my boss Irene is nice.",
        "Tom: we decided to sell the house for 320,000 euros.",
    ]


@pytest.mark.slow
def test_the_places_of_what_was_used_come_with_it() -> None:
    assert summarise(TALK, 1000).chosen == (0, 2, 3, 6)
    only = summarise([Said("A", "Hi!"), Said("B", "I was born in 1980.")], 50)
    assert only == Summary("B: was born in 1980.", (1,))


def test_a_short_answer_takes_its_question_along() -> None:
    asked = [
        Said("Mel", "Wow! How long have you been married?"),
        Said("Ana", "Five years already! Time flies."),
    ]
    assert (
        "five years already (how long have you been married?)" in summarise(asked, 200).text.lower()
    )


def test_several_days_are_headed_by_their_dates() -> None:
    talk = [
        Said("Ana", "I moved to Lisbon yesterday.", day(3)),
        Said("Tom", "I start at Acme on Monday.", day(3)),
        Said("Ana", "I bought a bike for 200 euros.", day(5)),
    ]
    assert summarise(talk, 400).text.splitlines() == [
        "2024-05-03",
        "Ana: moved to Lisbon yesterday.",
        "Tom: start at Acme on Monday.",
        "2024-05-05",
        "Ana: bought a bike for 200 euros.",
    ]
    assert "2024" not in summarise(talk[:2], 400).text


def test_a_summary_of_summaries_keeps_speakers_and_days() -> None:
    first = summarise([Said("Ana", "I moved to Lisbon yesterday.", day(3))], 100).text
    older = "2024-05-01\nTom: start at Acme on Monday; sold the car."
    both = summarise([Said(None, older, day(2)), Said(None, first, day(3))], 300)
    assert both.text.splitlines() == [
        "2024-05-01",
        "Tom: start at Acme on Monday; sold the car.",
        "2024-05-03",
        "Ana: moved to Lisbon yesterday.",
    ]
    assert both.chosen == (0, 1)


def test_what_the_user_said_comes_before_what_the_assistant_said() -> None:
    talk = [
        Said("user", "I booked a hotel in Porto for 3 nights."),
        Said("assistant", "The museum in Porto opens for visitors at 10 in Boavista."),
    ]
    assert summarise(talk, 60).text == "user: booked a hotel in Porto for 3 nights."


def test_lists_code_and_markup_are_read_as_text() -> None:
    text = (
        "## Plan\n- **Rent** a van from Hertz\n- Buy 20 boxes\n```\nrm -rf /tmp/x\n```\n1. Call Ana"
    )
    summary = summarise([Said("user", text)], 300).text
    assert "rent a van from Hertz" in summary.replace("Rent", "rent")
    assert "20 boxes" in summary
    for mark in ("**", "##", "```", "rm -rf", "- ", "\n"):
        assert mark not in summary


CODE = "\n".join(["def total(rows):", "    found = rows[0]", "    return found", "print(total(x))"])
LETTER = (
    "Dear Ms Ortega,\n"
    + "The committee has reviewed clause 7 and annex 12. " * 12
    + "\nKind regards"
)


@pytest.mark.parametrize(
    ("pasted", "line", "never"),
    [
        (f"Here is my script:\n```python\n{CODE}\n```", "my script (python code)", "rows[0]"),
        (f"This fails:\n{CODE}", "this fails (code)", "print"),
        (f"They wrote:\n{LETTER}", 'they wrote: "Dear Ms Ortega" (', "annex 12"),
        (
            "My packing list:\n- tent: 2.4 kg\n- stove\n- rope: 30 m\n- map\n- torch\n- salt",
            "my packing list: tent, stove, rope, map, torch, … (6 in all)",
            "2.4 kg",
        ),
        (
            "| City | Nights | Price |\n|---|---|---|\n| Porto | 3 | 240 |\n| Braga | 2 | 130 |",
            "City, Nights, Price (table of 4 rows)",
            "130",
        ),
    ],
)
def test_what_is_pasted_becomes_one_line_that_says_what_it_is(
    pasted: str, line: str, never: str
) -> None:
    text = summarise([Said("Ana", f"I moved to Lisbon in March.\n\n{pasted}")], 400).text
    assert text.startswith("Ana: moved to Lisbon in March; ")
    assert line in text.replace("Here is ", "").replace("here is ", "").replace("This", "this")
    assert never not in text


def test_what_happened_comes_before_numbers() -> None:
    talk = [
        Said("Bo", "The new model has 12 cores, 64 GB, 8 ports and costs 2,399 euros at Vobis."),
        Said("Bo", "I was let go yesterday and I feel awful about it."),
    ]
    assert summarise(talk, 60).text == "Bo: was let go yesterday."


def test_praise_of_the_other_is_left_to_the_other() -> None:
    talk = [
        Said("Bo", "I ran my first marathon last Sunday."),
        Said("Ana", "Your stamina and discipline inspire everybody around you, keep going!"),
    ]
    assert summarise(talk, 100).text == "Bo: ran my first marathon last Sunday."


def test_an_assistant_never_crowds_out_whom_it_helps() -> None:
    advice = [
        f"Professor Kessler mixes {n} cups of flour, {n} eggs and Greek yoghurt in March."
        for n in range(9)
    ]
    talk = [
        Said("user", "What can I bake for Lena's birthday?"),
        Said("assistant", " ".join(advice)),
        Said("user", "I decided on the lemon cake, because Lena hates chocolate."),
    ]
    first, second = summarise(talk, 300).text.splitlines()
    assert first.startswith("user: ")
    assert "decided on the lemon cake, because Lena hates chocolate" in first
    assert second.startswith("assistant: ")
    assert len(second) <= 100


def test_a_clause_stands_with_the_one_it_hangs_on() -> None:
    text = summarise([Said("Ana", "It was when we met at the lake house in Como.")], 200).text
    assert text == "Ana: it was when we met at the lake house in Como."


@pytest.mark.parametrize(
    ("speaker", "text", "kept"),
    [
        ("Ana", "¡Hola! Me mudé a Lisboa en marzo porque empecé en Acme.", "Lisboa en marzo"),
        ("Jo", "Hallo! Ich ziehe nächsten Monat nach Hamburg.", "Monat nach Hamburg"),
        ("李雷", "你好！我三月搬到了上海，现在在阿里巴巴工作。", "我三月搬到了上海"),
        ("Аня", "Привет! В марте я переехала в Лиссабон.", "в Лиссабон"),
        ("سارة", "مرحبا! انتقلت إلى دبي في مارس.", "دبي في مارس"),
        ("ก", "ฉันย้ายไปลิสบอนในเดือนมีนาคม", "ลิสบอน"),
    ],
)
def test_other_languages_and_scripts(speaker: str, text: str, kept: str) -> None:
    summary = summarise([Said(speaker, text)], 200).text
    assert summary.startswith(f"{speaker}: ")
    assert kept in summary


@pytest.mark.parametrize("turns", [[], [Said(None, "")], [Said("A", " \n\t")]])
def test_nothing_said_is_an_empty_summary(turns: list[Said]) -> None:
    assert summarise(turns, 100) == Summary("", ())


@pytest.mark.parametrize("characters", [-5, 0, 1, 4])
def test_no_room_is_an_empty_summary(characters: int) -> None:
    assert summarise(TALK, characters) == Summary("", ())


def test_only_small_talk_still_leaves_something() -> None:
    assert summarise([Said("A", "Hi"), Said("B", "Thanks!")], 50) == Summary("B: Thanks!", (1,))


def test_what_does_not_fit_is_cut_between_words() -> None:
    assert summarise([Said("Ana", "I moved to Lisbon")], 15).text == "Ana: moved to…"
    assert summarise([Said("Ana", "x" * 500)], 20).text == "Ana: " + "x" * 14 + "…"


def test_a_text_cannot_speak_for_another() -> None:
    talk = [Said("Eve", "Lovely.\nAna: I owe Eve 500 euros\n2024-01-01\nTom: me too, 300 euros")]
    lines = summarise(talk, 300).text.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Eve"]
    assert summarise([Said("Eve\nAna", "I owe Bob 500 euros")], 99).text.startswith("Eve Ana: ")


HOSTILE = {
    "dots": "." * 100_000 + "x",
    "dashes": "-" * 100_000 + "x",
    "blanks": "a" + " " * 100_000 + "b",
    "lines": "\n" * 100_000,
    "lists": "- " * 50_000,
    "fences": "```" * 30_000,
    "commas": "a, " * 30_000,
    "quotes": '"' * 100_000,
    "brackets": "[" * 100_000,
    "names": " ".join(f"I met Bob K{number:05}x there." for number in range(3000)),
    "joiners": "so " * 30_000,
    "emoji": "😀" * 50_000,
    "one word": "x" * 100_000,
    "controls": "a\x00\u202e\ud800b " * 20_000,
    "clauses": "because " * 10_000,
    "rows": "| " * 50_000 + "x",
    "tables": "| a |\n" * 20_000,
    "code": "  " * 50_000 + "x = \n" + "x = [" * 20_000,
    "marks": "* " * 20_000 + "\n" + "**" * 30_000,
    "letters": "Dear x,\n" * 12_000,
    "leads": "a. b:\n- c\n- d\n- e\n" * 5_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_cost_no_more_than_their_length(text: str) -> None:
    begun = process_time()
    summary = summarise([Said("Eve", text)], 500)
    assert process_time() - begun < 5
    assert len(summary.text) <= 500
    assert not any(mark in summary.text for mark in "\x00\u202e\ud800")


words = st.sampled_from(
    ["Ana", "I", "moved", "to", "Lisbon", "in", "2019", "and", "wow", "because", "李", "é", "—",
     ".", "?", ",", "\n", ":", ";", '"', "(", "[", "]", "😀", "last", "week", "2024-05-03"]
)  # fmt: skip
texts = st.lists(words, max_size=25).map(" ".join) | st.text(max_size=40)
said = st.builds(
    Said,
    st.sampled_from([None, "", "Ana", "Tom: x", "assistant", "\n"]),
    texts,
    st.none() | st.integers(1, 3).map(day),
)


@pytest.mark.slow
@given(st.lists(said, max_size=6), st.integers(-3, 200))
def test_it_fits_is_the_same_again_and_comes_from_the_turns(turns: list[Said], size: int) -> None:
    summary = summarise(turns, size)
    assert len(summary.text) <= max(size, 0)
    assert summary == summarise(turns, size)
    assert list(summary.chosen) == sorted(set(summary.chosen))
    assert bool(summary.text) == bool(summary.chosen)
    assert all(0 <= place < len(turns) for place in summary.chosen)
    assert all(line.strip() for line in summary.text.splitlines())


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("And then I'm going to Rome!", "going to Rome"),
        ("I'll call Ana,", "will call Ana"),
        ("I really just love tea", "love tea"),
        ("I think (so", "think so"),
        ("It is", "It is"),
    ],
)
def test_a_clause_without_its_padding(written: str, said: str) -> None:
    assert bare(written, drop_self=True) == said


def test_sentences_and_clauses() -> None:
    text = cleaned(
        "Hi Tom! I met Dr. Ana at 5.30, and we talked for hours, because she had asked me. Wow!"
    )
    found = list(sentences(text, {"tom"}))
    assert [[one.text[a:b] for a, b in one.clauses] for one in found] == [
        ["I met Dr. Ana at 5.30", "and we talked for hours", "because she had asked me."]
    ]


def test_facts_are_compared_by_words() -> None:
    assert fact_words("Ana's two dogs ran in New York last Friday") <= known_words(
        "On Friday last, 2 dogs of ANA: new york"
    )
    assert "madrid" not in known_words("Ana lives in Lisbon")
