"""A question that nothing in the memory answers gets low scores, not absurd ones."""

from __future__ import annotations

from remanence import Memory

LIFE = ("I like tea", "My sister is Marta", "We got a dog", "I live in Lisbon")
STRANGE = ("quantum chromodynamics", "zxcvb qwerty", "aaaa", "Fourier transform", "ⵣⵣ", "42")


def test_no_signal_runs_away() -> None:
    with Memory(":memory:") as memory:
        for n in range(len(LIFE)):
            memory.add(LIFE[n], user_id=f"user {n}")
        for question in STRANGE:
            for hit in memory.search(question, all_users=True, limit=10):
                assert all(abs(share) < 50 for share in hit.signals.values()), (question, hit)
            for n in range(len(LIFE)):
                for hit in memory.search(question, user_id=f"user {n}"):
                    assert all(abs(share) < 50 for share in hit.signals.values()), (question, hit)
