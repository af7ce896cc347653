from __future__ import annotations

from datetime import UTC, datetime
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Reading
from remanence.model.knowledge import EntityType

AT = datetime(2023, 5, 10, 15, tzinfo=UTC)
SAM = NamedEntity("Sam", EntityType.PERSON)
WORDS = """
I we he she you my our his her Ana Tom's Rome Acme the a an and but because who which , . ! ? ; : -
live lives lived living in at work works worked working as nurse moved to from since 2019 until for
three years ago last month not never no longer don't can't will going used to be am is are was been
have has had got sister brother wife dog named called love hate like favourite colour blue want plan
hope if might would maybe think says said that married engaged born 34 allergic diagnosed with
yesterday in May ( ) " ' I'm I've I'd it's Ana's just anymore
"""


def reading(text: str) -> Reading:
    return read(text, speaker=SAM, at=AT, all=True)


def check(text: str) -> None:
    found = reading(text)
    assert found == reading(text)
    for one in (*found.statements, *found.implied):
        assert one.subject.text
        assert one.predicate
        assert one.value == one.value.strip()
        assert one.value or one.ended is not None
        assert one.object is None or one.object.text == one.value
        assert 0 < one.confidence <= 1
        assert 0 < one.trust <= 1
    assert all(count > 0 for count in found.refused.values())
    assert len(set(found.names)) == len(found.names)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    check(text)


@pytest.mark.slow
@given(st.lists(st.sampled_from(WORDS.split()), max_size=40).map(" ".join))
def test_any_words_can_be_read(text: str) -> None:
    check(text)


@given(st.text(max_size=20))
def test_any_speaker_can_speak(name: str) -> None:
    text = "My sister Ana lives in Rome. Tom works at Acme."
    read(text, speaker=NamedEntity(name, EntityType.PERSON), at=AT, all=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "a", "A", "I ", "my ", "Ana ", "A A ", ", ", "'", "'s ", '"', "`", "> ", "(", "-", "|",
        "\n",
        "I live in ", "and I ", "my sister ", "http://", "a@", "+1 2 ", "not ", "very ", "who ",
        "My x is ", "A, a b, is ", "é", "2019 ", "since ", "from a to ", "I am a ", "I have a ",
        "my old old ", "Ana's ", "to be ", ". ", "!", "I think that ", "Tom says ", "a.A",
        "x" * 500, "my a a, ", "Ana wrote: I ", "I x, he ", "From: x\n", "Best,\nAna\n", "the a b ",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_long(piece: str) -> None:
    text = (piece * (100_000 // len(piece) + 1))[:100_000]
    begun = process_time()
    reading(text)
    reading(f"I live in {text}")
    assert process_time() - begun < 2.0
