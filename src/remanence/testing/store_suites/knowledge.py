"""Entities, claims and mentions as callers state them: whose they are, how they are read."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from remanence.errors import InvalidInput, NotFound
from remanence.model.knowledge import Timespan, entity_id
from remanence.model.memory import State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.testing.store_suites.making import (
    ANA,
    BOB,
    EVERY,
    NOW,
    OSLO,
    Reopen,
    add,
    claim,
    entity,
    healthy,
    memory,
    mention,
    named,
    new_id,
    partition_of,
    revise,
    stated,
    values,
)

HOUR = timedelta(hours=1)
HOSTILE = [
    "'; DROP TABLE claims; --", '"', "\\", "%", "_", "{}", "名前 東京", "e\u0301é", "🎈" * 300,
    "\N{ZERO WIDTH JOINER}x", "\x01\x7f\n\t", "$1 %s ? :a", "x" * 200_000,
]  # fmt: skip
LONG_NAME = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(1024))
NO_TEXT: list[Any] = ["a\0b", "\ud800", None, 5, b"x"]


class KnowledgeSuite:
    """Knowledge that callers state, and the ways to read it."""

    def test_what_is_known_comes_back_whole(self, store: Store, reopen: Reopen) -> None:
        record = add(store, memory("x", user_id="u", session_id="s"))[0]
        ana = entity("Ána", user_id="u", type="person", given=True, created_at=NOW - HOUR)
        rome = entity("Rome", user_id="u", type="place")
        full = claim(
            ana, "lives in", rome,
            kind="plan", confidence=0.25, trust=1 / 3, origin="rules", memory=record.id,
            observed_at=NOW - HOUR, recorded_at=NOW + timedelta(microseconds=1),
            began=Timespan(start=NOW - HOUR, end=NOW), ended=Timespan(end=NOW + HOUR), denies=True,
            reason="why", retired_at=NOW + HOUR, agent_id="a", session_id="s",
            metadata={"a": [1, {"b": None}], "é": 0.1},
        )  # fmt: skip
        plain = claim(ana, "is", "tall", recorded_at=NOW + HOUR)
        store.knowledge.know("t", [ana, rome], [full, plain], [mention(record, rome)])
        store = reopen(store)
        reach = Reach(tenant="t", user_id="u")
        assert store.knowledge.claims(reach) == [full, plain]
        assert store.knowledge.entities(reach) == [ana, rome]
        assert store.knowledge.mentions(reach, [rome.id, ana.id]) == [mention(record, rome)]
        assert healthy(store)

    @pytest.mark.parametrize(
        "when",
        [None, Timespan(), Timespan(start=NOW), Timespan(end=NOW), Timespan(start=NOW, end=NOW)],
    )
    def test_a_time_that_is_open_is_not_none(self, store: Store, when: Timespan | None) -> None:
        one = claim(ANA, "is", "here", began=when, ended=when)
        stated(store, one)
        assert store.knowledge.claims(EVERY) == [one]

    def test_knowing_again_changes_nothing(self, store: Store) -> None:
        record = add(store, memory("x"))[0]
        one = claim(ANA, "knows", BOB)
        for again in (one, one, replace(one, text="other", value="other")):
            store.knowledge.know("t", [ANA, BOB, BOB], [again, again], [mention(record, ANA)] * 2)
        assert store.knowledge.claims(EVERY) == [one]
        assert store.knowledge.entities(EVERY) == [ANA, BOB]
        assert store.knowledge.mention_counts(EVERY) == {ANA.id: 1}
        assert healthy(store)

    def test_an_entity_keeps_its_name_and_takes_a_better_type(self, store: Store) -> None:
        store.knowledge.know("t", [entity("the Oslo")])
        assert named(store) == ["the Oslo"]
        later: list[tuple[dict[str, Any], str, bool]] = [
            ({"type": "place", "created_at": NOW + HOUR}, "place", False),
            ({"type": "thing"}, "place", False),
            ({"type": "person"}, "person", False),
            ({"type": "animal"}, "animal", False),
            ({"type": "person"}, "animal", False),
            ({"type": "person", "given": True}, "person", True),
            ({"type": "topic"}, "person", True),
            ({"type": "city", "given": True}, "city", True),
        ]
        for told, type, given in later:
            store.knowledge.know("t", [entity("OSLO", **told)])
            (now,) = store.knowledge.entities(EVERY)
            assert (now.name, now.created_at) == ("the Oslo", NOW)
            assert (now.type, now.given) == (type, given)
        assert healthy(store)

    def test_what_names_something_that_is_not_there_is_refused(self, store: Store) -> None:
        mine, theirs = add(store, memory("x"), memory("y", user_id="u"))
        other = add(store, memory("z", tenant="other"))[0]
        stated(store)
        store.knowledge.know("t", [entity("Una", user_id="u")])
        store.knowledge.know("other", [entity("Zoe")])
        nobody, una, zoe = entity("Nobody"), entity("Una", user_id="u"), entity("Zoe")
        wrong_claims = [
            claim(nobody, "is", "x"), claim(ANA, "knows", nobody), claim(zoe, "is", "x"),
            claim(una, "is", "x", user_id=None), claim(ANA, "is", "x", user_id="u"),
            claim(ANA, "is", "x", user_id="new"), claim(ANA, "is", "x", memory=theirs.id),
            claim(ANA, "is", "x", memory=other.id), claim(ANA, "is", "x", memory=str(new_id())),
            claim(una, "knows", BOB),
        ]  # fmt: skip
        for wrong in wrong_claims:
            with pytest.raises(NotFound):
                store.knowledge.know("t", [entity("Extra")], [claim(ANA, "is", "fine"), wrong])
        wrong_mentions = [
            mention(mine, nobody), mention(theirs, ANA), mention(other, ANA), mention(mine, una),
        ]  # fmt: skip
        for spoken in wrong_mentions:
            with pytest.raises(NotFound):
                store.knowledge.know("t", [entity("Extra")], [claim(ANA, "is", "fine")], [spoken])
        assert values(store) == []
        assert named(store) == ["Ana", "Bob", "Oslo", "Una"]
        assert healthy(store)

    def test_tenants_and_users_do_not_see_each_other(self, store: Store) -> None:
        owners = [("t", None), ("t", "u"), ("t", "v"), ("other", None), ("other", "u")]
        id = str(new_id())
        for tenant, user in owners:
            ana, bob = entity("Ana", user_id=user), entity("Bob", user_id=user)
            record = add(store, memory("x", tenant=tenant, user_id=user))[0]
            said = claim(ana, "knows", bob, text=f"{tenant} {user}", id=id)
            store.knowledge.know(tenant, [ana, bob], [said], [mention(record, ana)])
        for tenant, user in owners:
            reach, ana = Reach(tenant=tenant, user_id=user), entity("Ana", user_id=user)
            (one,) = store.knowledge.claims(reach, ids=[id])
            assert (one.text, one.user_id) == (f"{tenant} {user}", user)
            assert store.knowledge.entities(reach) == [ana, entity("Bob", user_id=user)]
            assert store.knowledge.mention_counts(reach) == {ana.id: 1}
            assert (
                len(store.knowledge.claims(reach, about=[ana.id, entity("Ana", user_id="w").id]))
                == 1
            )
        assert store.knowledge.claims(Reach(tenant="nobody", all_users=True)) == []
        assert store.knowledge.entities(Reach(tenant="t", user_id="w")) == []
        assert len(store.knowledge.claims(EVERY)) == 3
        both = Reach(tenant="t", user_id="u", include_shared=True)
        assert {one.user_id for one in store.knowledge.claims(both)} == {None, "u"}
        assert len(store.knowledge.entities(both)) == 4
        assert len(store.knowledge.mention_counts(both)) == 2
        assert store.knowledge.unknow("t", [id]) == 3 + 3
        assert len(store.knowledge.claims(Reach(tenant="other", all_users=True))) == 2
        assert healthy(store)

    def test_agent_and_session_narrow_what_is_said(self, store: Store) -> None:
        a, b = add(store, memory("x", agent_id="a", session_id="s"), memory("y", session_id="r"))
        cy = entity("Cy")
        stated(
            store,
            claim(ANA, "is", "one", agent_id="a", session_id="s"),
            claim(ANA, "knows", BOB, agent_id="a"),
            claim(OSLO, "is", "far", session_id="r"),
        )
        store.knowledge.know("t", [cy], [], [mention(a, cy), mention(b, ANA)])
        asked = {
            "agent": Reach(tenant="t", agent_id="a"),
            "session": Reach(tenant="t", session_id="r"),
            "both": Reach(tenant="t", agent_id="a", session_id="s"),
            "none": Reach(tenant="t", agent_id="a", session_id="r"),
        }
        assert {name: values(store, reach) for name, reach in asked.items()} == {
            "agent": ["one", "Bob"], "session": ["far"], "both": ["one"], "none": [],
        }  # fmt: skip
        assert {name: named(store, reach) for name, reach in asked.items()} == {
            "agent": ["Ana", "Bob", "Cy"], "session": ["Ana", "Oslo"], "both": ["Ana", "Cy"],
            "none": [],
        }  # fmt: skip
        assert named(store, asked["agent"], prefix="b") == ["Bob"]
        assert store.knowledge.mention_counts(asked["session"]) == {ANA.id: 1}
        assert store.knowledge.mentions(asked["session"], [ANA.id, cy.id]) == [mention(b, ANA)]
        assert store.knowledge.mention_counts(asked["both"]) == {cy.id: 1}
        assert store.knowledge.mentions(asked["none"], [ANA.id, cy.id]) == []

    def test_claims_come_in_order_of_recording_page_by_page(self, store: Store) -> None:
        hours = [3, 1, 2, 1, 3, 1, 0]
        made = [
            claim(ANA, "is", f"{at} at {hour}", recorded_at=NOW + hour * HOUR)
            for at, hour in enumerate(hours)
        ]
        stated(store, *made)
        expected = sorted(made, key=lambda one: one.recorded_at)
        assert store.knowledge.claims(EVERY) == expected
        paged = [store.knowledge.claims(EVERY, limit=2, offset=at) for at in range(0, 8, 2)]
        assert [one for page in paged for one in page] == expected
        assert store.knowledge.claims(EVERY, newest_first=True) == expected[::-1]
        assert (
            store.knowledge.claims(EVERY, newest_first=True, limit=3, offset=2)
            == expected[-3:-6:-1]
        )
        assert store.knowledge.claims(EVERY, subjects=[ANA.id], newest_first=True, limit=2) == [
            expected[-1],
            expected[-2],
        ]
        assert store.knowledge.claims(EVERY, limit=0) == []
        assert store.knowledge.claims(EVERY, offset=7) == []

    def test_several_conditions_hold_together(self, store: Store) -> None:
        x, y = add(store, memory("x"), memory("y"))
        one = claim(ANA, "knows", BOB, memory=x.id)
        two = claim(BOB, "knows", ANA, memory=y.id)
        three = claim(ANA, "likes", ANA)
        stated(store, one, two, three, claim(OSLO, "is", "far", memory=x.id))
        assert store.knowledge.claims(EVERY, about=[ANA.id]) == [one, two, three]
        assert store.knowledge.claims(EVERY, about=[ANA.id], memories=[x.id]) == [one]
        assert store.knowledge.claims(EVERY, ids=[two.id, three.id], about=[BOB.id]) == [two]
        assert store.knowledge.claims(EVERY, ids=[two.id], memories=[x.id]) == []
        assert len(store.knowledge.claims(EVERY, memories=[x.id, y.id, x.id])) == 3
        for nothing in ([], ["no id"], [str(new_id())]):
            assert store.knowledge.claims(EVERY, about=nothing) == []
            assert store.knowledge.claims(EVERY, ids=nothing) == []
            assert store.knowledge.claims(EVERY, memories=nothing) == []
            assert store.knowledge.entities(EVERY, nothing) == []
            assert store.knowledge.mentions(EVERY, nothing) == []

    def test_claims_are_read_by_subject_and_predicate(self, store: Store) -> None:
        one = claim(ANA, "knows", BOB)
        two = claim(BOB, "knows", ANA)
        three = claim(ANA, "likes", OSLO, agent_id="a")
        four = claim(OSLO, "knows", BOB)
        stated(store, one, two, three, four)
        una = entity("Una", user_id="u")
        store.knowledge.know("t", [una], [claim(una, "knows", una)])
        reach, agent = Reach(tenant="t"), Reach(tenant="t", agent_id="a")
        assert store.knowledge.claims(reach, subjects=[ANA.id]) == [one, three]
        assert store.knowledge.claims(reach, subjects=[ANA.id, BOB.id, una.id]) == [one, two, three]
        assert store.knowledge.claims(reach, subjects=[ANA.id, BOB.id], limit=1, offset=1) == [two]
        assert store.knowledge.claims(reach, subjects=[ANA.id], about=[BOB.id]) == [one]
        assert store.knowledge.claims(agent, subjects=[ANA.id]) == [three]
        assert store.knowledge.claims(reach, predicate="knows") == [one, two, four]
        assert store.knowledge.claims(reach, predicate="knows", about=[ANA.id]) == [one, two]
        assert store.knowledge.claims(reach, predicate="knows", subjects=[ANA.id]) == [one]
        assert store.knowledge.claims(reach, predicate="likes", ids=[one.id, three.id]) == [three]
        assert len(store.knowledge.claims(EVERY, predicate="knows")) == 4
        both = ["likes", "knows", "knows", "hates"]
        assert store.knowledge.claims(reach, predicate=both) == [one, two, three, four]
        assert store.knowledge.claims(reach, predicate=both, about=[OSLO.id]) == [three, four]
        assert store.knowledge.claims(reach, predicate=[]) == []
        for nothing in ([], ["no id"], [str(new_id())]):
            assert store.knowledge.claims(reach, subjects=nothing) == []
        for nobodys in ("", "Knows", "know_", "know%", "x' OR '1'='1"):
            assert store.knowledge.claims(reach, predicate=nobodys) == []

    def test_entities_come_by_folded_name_page_by_page(self, store: Store) -> None:
        names = ["b", "The a", "Ä", "C", "Z", "ß", "東", "the d", "a b", "🎈", "\uffff"]
        store.knowledge.know("t", [entity(name) for name in names])
        ordered = ["The a", "Ä", "a b", "b", "C", "the d", "ß", "Z", "東", "\uffff", "🎈"]
        assert named(store) == [name for name in ordered if name != "Ä"]
        store.knowledge.know("t", [entity(name, user_id="u") for name in names])
        both = [(one.name, one.user_id) for one in store.knowledge.entities(EVERY)]
        pages = [store.knowledge.entities(EVERY, limit=3, offset=at) for at in range(0, 24, 3)]
        assert [(one.name, one.user_id) for page in pages for one in page] == both
        ids = [entity_id("u", "c"), entity_id(None, "z"), entity_id("w", "c")]
        assert named(store, ids=ids) == ["C", "Z"]
        assert named(store, ids=ids, prefix="z") == ["Z"]

    def test_a_prefix_is_letters_and_no_pattern(self, store: Store) -> None:
        names = ["a%b", "a_b", "acb", "a\\b", "été", "etat", "straße", "東京", "東西", "西",
                 "\ud7ffx", "\U0010ffff\U0010ffffx", "a'b", "a"]  # fmt: skip
        store.knowledge.know("t", [entity(name) for name in names])
        asked = {
            "a%": ["a%b"], "a_": ["a_b"], "a\\": ["a\\b"], "et": ["etat", "été"],
            "ete": ["été"], "é": [], "A": [], "strasse": ["straße"], "東": ["東京", "東西"],
            "\ud7ff": ["\ud7ffx"], "\U0010ffff": ["\U0010ffff\U0010ffffx"], "a'": ["a'b"],
            "\U0010ffff\U0010ffff": ["\U0010ffff\U0010ffffx"],
            "a": ["a", "a%b", "a'b", "a\\b", "a_b", "acb"],
        }  # fmt: skip
        assert {prefix: named(store, prefix=prefix) for prefix in asked} == asked
        assert len(named(store, prefix="")) == len(names)

    def test_mentions_come_latest_first_and_only_of_active_memories(self, store: Store) -> None:
        records = add(
            store,
            *[
                memory(f"m{n}", happened_at=NOW + n % 3 * HOUR, session_id=f"s{n}")
                for n in range(6)
            ],
        )
        spoken = [mention(one, who) for one in records for who in (ANA, BOB)]
        store.knowledge.know("t", [ANA, BOB, OSLO], [], spoken)
        revise(store, records[5].id, state=State.ARCHIVED)
        expected = [mention(records[n], ANA) for n in (2, 4, 1, 3, 0)]
        assert store.knowledge.mentions(EVERY, [ANA.id]) == expected
        assert (
            store.knowledge.mentions(EVERY, [ANA.id, OSLO.id], limit=2, offset=1) == expected[1:3]
        )
        both = store.knowledge.mentions(EVERY, [ANA.id, BOB.id])
        assert [one.memory for one in both[::2]] == [one.memory for one in expected]
        pages = [
            store.knowledge.mentions(EVERY, [ANA.id, BOB.id], limit=3, offset=at)
            for at in (0, 3, 6, 9)
        ]
        assert [one for page in pages for one in page] == both
        assert store.knowledge.mention_counts(EVERY) == {ANA.id: 5, BOB.id: 5}
        assert set(store.knowledge.scan("t")) >= set(spoken)

    @pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
    def test_any_text_is_only_a_text(self, store: Store, text: str) -> None:
        name = text[:1024]
        who = entity(name, type=name)
        one = claim(who, name, text, text=text, reason=text, kind=name, origin=name,
                    metadata={name: text})  # fmt: skip
        store.knowledge.know("t", [who], [one])
        assert store.knowledge.entities(EVERY) == [who]
        assert store.knowledge.claims(EVERY, about=[who.id]) == [one]
        (tie,) = list(store.recall.names(partition_of(store)))
        assert (tie.name, tie.type) == (name, name)
        assert store.knowledge.unknow("t", [one.id]) == 2
        assert list(store.knowledge.scan("t")) == []

    def test_long_names_are_found_and_told_apart(self, store: Store) -> None:
        names = [LONG_NAME, LONG_NAME[:-1] + "x", LONG_NAME + "y"]
        store.knowledge.know("t", [entity(name) for name in names])
        assert named(store) == sorted(names)
        assert named(store, prefix=LONG_NAME) == [LONG_NAME, LONG_NAME + "y"]
        assert named(store, prefix=LONG_NAME[:-1]) == sorted(names)

    @pytest.mark.parametrize("text", NO_TEXT, ids=ascii)
    def test_what_is_no_text_is_refused(self, store: Store, text: Any) -> None:
        stated(store)
        wrong_claims = [
            replace(claim(ANA, "is", "x"), **{field: text})
            for field in ("predicate", "value", "text", "kind", "origin")
        ]
        if text is not None:
            wrong_claims.append(claim(ANA, "is", "x", reason=text))
        for wrong in wrong_claims:
            with pytest.raises(InvalidInput):
                stated(store, claim(ANA, "is", "fine"), wrong)
        for fields in ({"name": text}, {"type": text}):
            with pytest.raises(InvalidInput):
                store.knowledge.know("t", [replace(entity("New"), **fields)])
        assert values(store) == []
        assert named(store) == ["Ana", "Bob", "Oslo"]

    def test_ids_and_times_are_checked(self, store: Store) -> None:
        naive = datetime(2026, 1, 1)
        for wrong in (
            replace(ANA, id="ana"), replace(ANA, name=""), replace(ANA, created_at=naive),
        ):  # fmt: skip
            with pytest.raises(InvalidInput):
                store.knowledge.know("t", [wrong])
        stated(store)
        for fields in (
            {"id": "x"}, {"subject": "x"}, {"object": "x"}, {"retired_at": naive},
            {"rested_at": naive}, {"metadata": {"x": object()}}, {"predicate": ""},
        ):  # fmt: skip
            with pytest.raises(InvalidInput):
                stated(store, replace(claim(ANA, "is", "x"), **fields))
        assert values(store) == []
