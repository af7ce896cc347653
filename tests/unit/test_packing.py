"""Packed texts and coarse pieces: what goes in comes out, and damage is told from text."""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from remanence.errors import InvalidInput, StoreCorrupt
from remanence.model.embedding import CODE_BITS, FloatArray, quantised, restored
from remanence.model.tier import TextCodec
from remanence.recall.evidence import token_matches
from remanence.store.coarse import are_codes, bits_of, coarser, halved, opened, vector_bytes
from remanence.store.packing import (
    MOST_BYTES,
    SOURCES,
    Dictionary,
    Packer,
    body_digest,
    chosen,
    codec_of,
    dictionary_of,
    lost,
    outgrown,
    trained,
    unpacked,
    whole,
)

SAID = [
    f"On day {n} we walked from the harbour to the old library, {n % 7} of us." for n in range(99)
]
DICTIONARY = Dictionary(300, trained(SAID) or b"")
PACKERS = [Packer(codec, DICTIONARY) for codec in TextCodec] + [Packer(TextCodec.ZSTD)]


def find(number: int) -> Dictionary:
    if number != DICTIONARY.number:
        raise lost(number)
    return DICTIONARY


def read(packed: bytes) -> str:
    return unpacked(packed, find)


@given(st.text(max_size=400), st.sampled_from(PACKERS))
def test_what_is_packed_is_smaller_and_comes_back(text: str, packer: Packer) -> None:
    for given_text in (text, text * 5, SAID[3] + text):
        try:
            raw = given_text.encode()
        except UnicodeEncodeError:
            return
        packed = packer.packed(given_text)
        if packed is not None:
            assert len(packed) < len(raw)
            assert dictionary_of(packed) == packer.dictionary
            assert read(packed) == given_text


@given(st.binary(max_size=200))
def test_any_bytes_are_a_text_or_damage(raw: bytes) -> None:
    with suppress(StoreCorrupt):
        assert isinstance(read(raw), str)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_flipped_byte_is_damage_or_another_text_never_a_crash(packer: Packer) -> None:
    packed = packer.packed("tea and cake, cake and tea; " * 40)
    assert packed is not None
    chance = random.Random(7)
    for _ in range(300):
        at = chance.randrange(2, len(packed))
        flipped = packed[:at] + bytes([packed[at] ^ 1 << chance.randrange(8)]) + packed[at + 1 :]
        with suppress(StoreCorrupt):
            assert isinstance(read(flipped), str)


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_a_text_that_claims_to_be_endless_is_refused(codec: int) -> None:
    if codec == 1:
        frame = zstandard.ZstdCompressor().compress(bytes(MOST_BYTES + 1))
        body = frame[4:]
    else:
        size = (MOST_BYTES + 1).to_bytes(4, "little")
        body = bytes([size[0] & 0x7F | 0x80, 0x80, 0x80, 0x88, 0x00]) + b"abc"
    with pytest.raises(StoreCorrupt, match="length"):
        read(bytes([codec, 0]) + body)


def test_codecs_have_names() -> None:
    assert codec_of("snappy") is TextCodec.SNAPPY
    with pytest.raises(InvalidInput, match="lz4"):
        codec_of("gzip")


def test_a_dictionary_is_read_from_the_copy_that_is_whole() -> None:
    body = DICTIONARY.body
    damaged = body[:-1] + bytes([body[-1] ^ 1])
    digest = body_digest(body)
    assert whole(4, digest, damaged, body).body == body
    assert whole(4, digest, body, b"").body == body
    with pytest.raises(StoreCorrupt, match="dictionary 4"):
        whole(4, digest, damaged, damaged)


def test_few_or_equal_texts_teach_nothing() -> None:
    assert trained(SAID[:5]) is None
    assert trained([""] * 50) is None


def test_a_dictionary_is_made_of_few_memories_from_everywhere() -> None:
    assert chosen(np.arange(10)).tolist() == list(range(10))
    some = chosen(np.arange(10, 100_010))
    assert (len(set(some.tolist())), some[0], some[-1]) == (SOURCES, 10, 100_009)
    assert not outgrown(100, 399)
    assert outgrown(100, 400)


vectors = st.integers(1, 70).flatmap(
    lambda size: st.lists(
        st.lists(st.floats(-1, 1, width=32), min_size=size, max_size=size), min_size=1, max_size=4
    )
)


@pytest.mark.slow
@given(vectors)
def test_coarse_vectors_keep_signs_and_length_along_themselves(
    given_rows: list[list[float]],
) -> None:
    rows = np.array(given_rows, np.float32)
    dimension = rows.shape[1]
    fine = [quantised(row) for row in rows]
    before = restored(fine)
    for bits in (4, 1):
        packed = coarser(fine, dimension, bits)
        assert coarser(packed, dimension, bits) == packed
        again = opened(packed, dimension)
        assert all(len(vector) == 4 + dimension for vector in again)
        if dimension < 8:
            assert packed == fine
            continue
        assert all(len(vector) == vector_bytes(dimension, bits) for vector in packed)
        assert {bits_of(vector, dimension) for vector in packed} == {bits}
        after = restored(again)
        assert not (after[before < 0] > 0).any()
        assert not (after[before > 0] < 0).any()
        own = np.vecdot(before, before)
        assert np.allclose(np.vecdot(before, after), own, rtol=1e-3, atol=1e-6)


def test_vectors_of_another_size_stay_as_they_are() -> None:
    odd = [b"short", b"x" * 300]
    assert coarser(odd, 64, 1) == odd
    assert opened(odd, 64) == odd


def matches(tokens: FloatArray, codes: list[bytes]) -> FloatArray:
    return token_matches(tokens, b"".join(codes), np.array([*map(len, codes)]))


def test_half_of_a_code_says_about_what_the_whole_says() -> None:
    chance = np.random.default_rng(3)
    words = chance.standard_normal((400, CODE_BITS)).astype(np.float32)
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    codes = [np.packbits(row > 0).tobytes() for row in words]
    cut = [halved(code) for code in codes]
    assert all(are_codes(code) for code in (*codes, *cut, b""))
    assert not are_codes(b"odd")
    assert halved(cut[0]) == cut[0]
    assert halved(b"") == b""
    noisy = words[:5] + chance.standard_normal((5, CODE_BITS)).astype(np.float32) * np.float32(0.05)
    tokens = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    full, half = matches(tokens, codes), matches(tokens, cut)
    assert full.argmax(axis=0).tolist() == half.argmax(axis=0).tolist() == [0, 1, 2, 3, 4]
    assert abs(np.diag(full).mean() - np.diag(half).mean()) < 0.15
    mixed = matches(tokens, [codes[0], cut[1], b"", codes[2] + codes[3]])
    assert np.allclose(mixed[0], full[0])
    assert np.allclose(mixed[1], half[1])
    assert not mixed[2].any()
    assert np.allclose(mixed[3], np.maximum(full[2], full[3]))
