"""mem0's own client, unchanged, against a real server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from remanence import Memory
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving

ALICE = {"user_id": "alice"}
NOBODY = "01a1e2cb-1514-7f1d-9ba5-f2dcb434eaff"


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing leaves this machine, and nothing is written into the user's home."""
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "mem0"))
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        assert self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "::1"), address
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(Memory(tmp_path / "memory.db")) as server:
        yield server


@pytest.fixture
def clients(served: Served) -> Iterator[Callable[..., Any]]:
    """Makes clients with a key; they are closed in the end."""
    from mem0 import MemoryClient  # type: ignore[import-untyped]

    made: list[Any] = []

    def client(key: str = "any") -> Any:
        made.append(MemoryClient(api_key=key, host=served.url))
        return made[-1]

    yield client
    for one in made:
        one.client.close()


@pytest.fixture
def client(clients: Callable[..., Any]) -> Any:
    return clients()


def texts(found: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in found["results"]]


def add(client: Any, *said: str, **given: Any) -> list[str]:
    """Store texts as they are; gives their ids."""
    messages = [{"role": "user", "content": one} for one in said]
    results = client.add(messages, infer=False, **(ALICE | given))["results"]
    return [one["id"] for one in results]


def refusal(error: type[Exception], call: Callable[..., Any], *given: Any, **named: Any) -> str:
    with pytest.raises(error) as caught:
        call(*given, **named)
    return str(caught.value)


def test_the_key_is_checked_when_the_client_is_made(
    served: Served, clients: Callable[..., Any]
) -> None:
    known = clients(served.key(tenant="acme"))
    assert (known.org_id, known.project_id) == ("acme", "acme")
    from mem0 import MemoryClient

    with httpx.Client() as http:
        told = refusal(ValueError, MemoryClient, "whatever", served.url, http)
    assert "unknown, expired or revoked" in told


def test_what_is_added_is_an_event_that_has_succeeded(client: Any) -> None:
    answer = client.add("I live in Lisbon", user_id="alice")
    assert answer["status"] == "PENDING"
    event = client.client.get(f"/v1/event/{answer['event_id']}/").json()
    assert event["status"] == "SUCCEEDED"
    [result] = event["results"]
    assert (result["event"], result["data"]) == ("ADD", {"memory": "I live in Lisbon"})
    assert client.get(result["id"])["memory"] == "I live in Lisbon"
    [listed] = client.client.get("/v1/events/").json()["results"]
    assert listed == event


def test_an_event_of_nothing_succeeds_and_an_unknown_one_is_not_there(client: Any) -> None:
    instructions = [{"role": "system", "content": "You are a pirate."}]
    answer = client.add(instructions, user_id="alice")
    event = client.client.get(f"/v1/event/{answer['event_id']}/").json()
    assert (event["status"], event["results"]) == ("SUCCEEDED", [])
    assert client.client.get(f"/v1/event/{NOBODY}/").status_code == 404


def test_everything_that_is_given_comes_back(client: Any) -> None:
    at = datetime(2024, 3, 1, 12, tzinfo=UTC)
    answer = client.add(
        [
            {"role": "user", "content": "I play chess", "name": "Ana"},
            {"role": "assistant", "content": [{"type": "text", "text": "How nice"}], "x": 1},
        ],
        user_id="alice",
        agent_id="bot",
        app_id="web",
        run_id="r1",
        metadata={"team": "sales", "deep": {"a": [1, 2]}},
        categories=["hobbies"],
        expiration_date="2999-01-01",
        timestamp=int(at.timestamp()),
        infer=False,
        output_format="v1.1",
        custom_instructions="be brief",
    )
    first, second = (client.get(one["id"]) for one in answer["results"])
    assert first == first | {
        "memory": "I play chess",
        "user_id": "alice",
        "agent_id": "bot",
        "app_id": "web",
        "run_id": "r1",
        "actor_id": "Ana",
        "role": "user",
        "metadata": {"team": "sales", "deep": {"a": [1, 2]}},
        "categories": ["hobbies"],
        "expiration_date": "2999-01-01",
        "created_at": at.isoformat(),
        "immutable": False,
    }
    assert (second["memory"], second["role"]) == ("How nice", "assistant")


def test_search_answers_best_first_with_scores(client: Any) -> None:
    add(client, "I'm allergic to peanuts", "My sister Maria works at Siemens", "My dog is Rex")
    found = client.search("who is Maria?", filters=ALICE)["results"]
    assert found[0]["memory"] == "My sister Maria works at Siemens"
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0.1 <= score <= 1 for score in scores)
    assert found[0]["score_breakdown"].keys() == {"semantic", "bm25", "entity"}
    assert all(0 <= share <= 1 for share in found[0]["score_breakdown"].values())
    assert len(client.search("Maria", filters=ALICE, top_k=1, rerank=True)["results"]) == 1
    assert texts(client.search("who is Maria?", filters=ALICE, threshold=0.9)) == texts(
        {"results": found[:1]}
    )
    [slim] = client.search("Maria", filters=ALICE, top_k=1, fields=["memory"])["results"]
    assert slim.keys() == {"id", "memory"}


def test_what_holds_comes_before_what_has_ended_in_part(client: Any) -> None:
    both = "I live in Bergen and I work at Nordlys."
    add(client, both, "I like long walks.")
    assert texts(client.search("Where do I live?", filters=ALICE))[0] == both
    add(client, "I moved to Tromsø.")
    found = client.search("Where do I live?", filters=ALICE)["results"]
    assert texts({"results": found})[:2] == ["I moved to Tromsø.", both]
    assert found[0]["score"] == found[1]["score"]
    assert texts(client.search("Where do I work?", filters=ALICE))[0] == both


def test_contradictions_are_resolved(client: Any) -> None:
    [lisbon] = add(client, "I live in Lisbon.")
    add(client, "I like tea.")
    [berlin] = add(client, "I moved to Berlin.")
    assert texts(client.search("Where do I live?", filters=ALICE))[0] == "I moved to Berlin."
    assert "I live in Lisbon." not in texts(client.search("Where do I live?", filters=ALICE))
    everything = client.get_all(filters=ALICE)
    assert (everything["count"], texts(everything)) == (2, ["I moved to Berlin.", "I like tea."])
    past = client.search("Where do I live?", filters=ALICE, latest_only=False, threshold=0)
    assert past["results"][-1]["superseded_by"] == berlin
    assert client.get_all(filters=ALICE, latest_only=False)["count"] == 3
    assert client.get(lisbon)["superseded"] is True
    assert "superseded" not in client.get(berlin)
    client.delete(berlin)
    assert texts(client.search("Where do I live?", filters=ALICE))[0] == "I live in Lisbon."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I lived in Paris until 2019.", "I moved to Berlin."),
        ("I went to Rome last May.", "I went to Oslo last June."),
        ("I live in Faro and I like jazz.", "I moved to Berlin."),
        ("My sister Maria lives in Porto.", "I moved to Berlin."),
    ],
)
def test_what_is_still_true_stays(client: Any, before: str, after: str) -> None:
    add(client, before)
    add(client, after)
    assert texts(client.get_all(filters=ALICE)) == [after, before]


def test_what_says_more_than_the_facts_that_ended_stays(client: Any) -> None:
    long = "I live in Lisbon. " + "The flat has a view of the river and the trams are loud. " * 3
    add(client, long)
    add(client, "I moved to Berlin.")
    assert client.get_all(filters=ALICE)["count"] == 2


def test_pages_are_whole_where_some_memories_no_longer_hold(client: Any) -> None:
    for number, city in enumerate(["Lisbon", "Porto", "Faro", "Berlin"]):
        add(client, f"Note {number}: the meeting was long.", f"I live in {city}.")
    first = client.get_all(filters=ALICE, page=1, page_size=2)
    second = client.get_all(filters=ALICE, page=2, page_size=2)
    third = client.get_all(filters=ALICE, page=3, page_size=2)
    assert [one["count"] for one in (first, second, third)] == [5, 5, 5]
    assert [one["next"] is None for one in (first, second, third)] == [False, False, True]
    assert first["previous"] is None
    assert "page=1" in second["previous"]
    shown = texts(first) + texts(second) + texts(third)
    assert shown[0] == "I live in Berlin."
    assert sorted(shown[1:]) == [f"Note {n}: the meeting was long." for n in range(4)]
    assert texts(client.get_all(filters=ALICE, page=9, page_size=2)) == []


def test_an_expired_memory_is_not_returned(client: Any) -> None:
    past = (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
    [old] = add(client, "The code of the door is blue", expiration_date=past)
    [new] = add(client, "The code of the gate is red", expiration_date="2999-12-31")
    assert texts(client.get_all(filters=ALICE)) == ["The code of the gate is red"]
    assert texts(client.search("what is the code?", filters=ALICE)) == [
        "The code of the gate is red"
    ]
    assert client.get_all(filters=ALICE, show_expired=True)["count"] == 2
    assert len(client.search("the code", filters=ALICE, show_expired=True)["results"]) == 2
    client.update(old, expiration_date=None)
    client.update(new, expiration_date=past)
    assert texts(client.get_all(filters=ALICE)) == ["The code of the door is blue"]


def test_update_and_history(client: Any) -> None:
    [id] = add(client, "I like tea", metadata={"a": 1}, app_id="web")
    changed = client.update(id, text="I like coffee", metadata={"b": 2})
    assert (changed["memory"], changed["metadata"]) == ("I like coffee", {"b": 2})
    assert client.get(id)["app_id"] == "web"
    client.update(id, timestamp=1_700_000_000)
    assert client.get(id)["created_at"].startswith("2023-11-14T22:13:20")
    events = client.history(id)
    told = [(one["event"], one["old_memory"], one["new_memory"]) for one in events]
    assert told == [
        ("ADD", None, "I like tea"),
        ("UPDATE", "I like tea", "I like coffee"),
        ("UPDATE", "I like coffee", "I like coffee"),
    ]
    assert {one["memory_id"] for one in events} == {id}
    assert len({one["id"] for one in events}) == 3


def test_what_was_forgotten_elsewhere_is_not_there(client: Any, served: Served) -> None:
    from mem0.exceptions import MemoryNotFoundError  # type: ignore[import-untyped]

    [id] = add(client, "I like tea")
    served.memory.forget(id)
    refusal(MemoryNotFoundError, client.get, id)
    assert client.get_all(filters=ALICE)["count"] == 0
    assert client.search("tea", filters=ALICE)["results"] == []
    assert client.users()["results"] == []
    told = [(one["event"], one["new_memory"]) for one in client.history(id)]
    assert told == [("ADD", "I like tea"), ("DELETE", None)]


def test_an_immutable_memory_is_not_changed(client: Any) -> None:
    from mem0.exceptions import ValidationError

    [id] = add(client, "The contract ends in May", immutable=True)
    assert "immutable" in refusal(ValidationError, client.update, id, text="in June")
    assert client.get(id)["memory"] == "The contract ends in May"


def test_delete_is_for_good(client: Any) -> None:
    from mem0.exceptions import MemoryNotFoundError

    first, second, third = add(client, "one apple", "two pears", "three plums")
    assert client.delete(first)["message"]
    for call in (client.get, client.delete, client.history):
        refusal(MemoryNotFoundError, call, first)
    refusal(
        MemoryNotFoundError,
        client.batch_delete,
        [{"memory_id": second}, {"memory_id": first}],
    )
    assert client.get(second)["memory"] == "two pears"
    client.batch_delete([{"memory_id": second}, {"memory_id": third}])
    assert client.get_all(filters=ALICE)["count"] == 0


def test_deleting_what_is_linked_takes_what_it_superseded(client: Any) -> None:
    add(client, "I live in Lisbon.")
    add(client, "I live in Porto.")
    [berlin] = add(client, "I moved to Berlin.")
    [tea] = add(client, "I like tea.")
    client.delete(berlin, delete_linked=True)
    left = client.get_all(filters=ALICE, latest_only=False)["results"]
    assert [one["id"] for one in left] == [tea]


def test_delete_all_takes_only_those_who_are_named(client: Any) -> None:
    from mem0.client.types import DeleteAllMemoryOptions  # type: ignore[import-untyped]
    from mem0.exceptions import ValidationError

    add(client, "alice's", user_id="alice")
    add(client, "bob's", user_id="bob")
    add(client, "carol's of the bot", user_id="carol", agent_id="bot")
    add(client, "dora's of the web", user_id="dora", app_id="web")
    everybody = {"user_id": "*"}
    assert "Say whose" in refusal(ValidationError, client.delete_all)
    refusal(ValidationError, client.delete_all, user_id="")
    assert client.get_all(filters=everybody)["count"] == 4
    client.delete_all(user_id="alice")
    assert sorted(texts(client.get_all(filters=everybody))) == [
        "bob's",
        "carol's of the bot",
        "dora's of the web",
    ]
    client.delete_all(agent_id="*")
    client.delete_all(DeleteAllMemoryOptions(filters={"app_id": "web"}))
    assert texts(client.get_all(filters=everybody)) == ["bob's"]
    client.delete_all(user_id="*", agent_id="*", app_id="*", run_id="*")
    assert client.get_all(filters=everybody)["count"] == 0


def test_batch_update(client: Any) -> None:
    from mem0.exceptions import MemoryNotFoundError

    first, second = add(client, "one apple", "two pears")
    client.batch_update(
        [{"memory_id": first, "text": "one plum"}, {"memory_id": second, "metadata": {"n": 2}}]
    )
    assert client.get(first)["memory"] == "one plum"
    assert client.get(second)["metadata"] == {"n": 2}
    wrong = [{"memory_id": first, "text": "lost"}, {"memory_id": NOBODY, "text": "x"}]
    refusal(MemoryNotFoundError, client.batch_update, wrong)
    assert client.get(first)["memory"] == "one plum"


def test_entities_are_counted_and_removed(client: Any, served: Served) -> None:
    add(client, "a", "b", user_id="alice", agent_id="bot", run_id="r1", app_id="web")
    add(client, "c", user_id="a/b c%")
    served.memory.blocks.append("human", "Alice", user_id="alice")
    found = {(one["type"], one["name"]): one["count"] for one in client.users()["results"]}
    assert found == {
        ("user", "alice"): 2,
        ("user", "a/b c%"): 1,
        ("agent", "bot"): 2,
        ("app", "web"): 2,
        ("run", "r1"): 2,
    }
    client.delete_users(user_id="a/b c%")
    assert "a/b c%" not in {one["name"] for one in client.users()["results"]}
    client.delete_all(user_id="alice")
    assert served.memory.blocks.get("human", user_id="alice").value == "Alice"
    add(client, "a", user_id="alice", agent_id="bot")
    assert "successful" in client.reset()["message"]
    assert client.users()["results"] == []
    assert served.memory.blocks.get("human", user_id="alice").value == ""


def test_feedback_is_kept_for_learning(client: Any, served: Served) -> None:
    from mem0.exceptions import MemoryNotFoundError

    [id] = add(client, "I like tea")
    client.feedback(id, "POSITIVE")
    client.feedback(id, "very_negative", "no longer so")
    client.feedback(id)
    kept = [one.useful for one in served.memory.parts.store.archive.feedback("default")]
    assert kept == [True, False]
    refusal(MemoryNotFoundError, client.feedback, NOBODY, "POSITIVE")


def test_what_the_platform_alone_has_is_refused_with_a_reason(client: Any) -> None:
    from mem0.exceptions import MemoryError as Mem0Error

    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (client.project.get, ()),
        (client.get_webhooks, ("default",)),
        (client.create_webhook, ("http://127.0.0.1/", "hook", "default", ["memory:add"])),
        (client.delete_webhook, (1,)),
        (client.create_memory_export, ("{}",)),
        (client.get_memory_export, ()),
        (client.get_summary, ()),
        (client.get_profile, ("alice",)),
        (client.generate_profile, ("alice",)),
        (client.get_profile_settings, ()),
    ]
    for call, given in calls:
        told = refusal(Mem0Error, call, *given)
        assert " here" in told, (call, told)


def test_two_tenants_see_nothing_of_each_other(served: Served, clients: Callable[..., Any]) -> None:
    from mem0.exceptions import MemoryNotFoundError

    mine, theirs = (clients(served.key(tenant=name, name=name)) for name in ("one", "two"))
    answer = mine.add("I live in Lisbon", user_id="alice", agent_id="bot")
    [id] = add(mine, "My code is 1234", agent_id="bot")
    for call in (theirs.get, theirs.history, theirs.delete):
        refusal(MemoryNotFoundError, call, id)
    refusal(MemoryNotFoundError, theirs.update, id, text="mine now")
    refusal(MemoryNotFoundError, theirs.feedback, id, "POSITIVE")
    refusal(MemoryNotFoundError, theirs.batch_delete, [{"memory_id": id}])
    refusal(MemoryNotFoundError, theirs.batch_update, [{"memory_id": id, "text": "x"}])
    assert theirs.client.get(f"/v1/event/{answer['event_id']}/").status_code == 404
    assert theirs.client.get("/v1/events/").json()["results"] == []
    for filters in (ALICE, {"user_id": "*"}, {"agent_id": "bot"}):
        assert theirs.get_all(filters=filters)["count"] == 0
        assert theirs.search("code", filters=filters, threshold=0)["results"] == []
    assert theirs.users()["results"] == []
    theirs.delete_users(user_id="alice")
    theirs.delete_all(user_id="alice")
    theirs.delete_all(user_id="*", agent_id="*", app_id="*", run_id="*")
    assert mine.get_all(filters=ALICE)["count"] == 2


def test_a_key_that_reads_does_not_write(served: Served, clients: Callable[..., Any]) -> None:
    from mem0.exceptions import AuthenticationError

    writer, reader = clients(served.key()), clients(served.key("read", name="reader"))
    [id] = add(writer, "I like tea")
    assert reader.get(id)["memory"] == "I like tea"
    assert reader.search("tea", filters=ALICE)["results"]
    for call, given in (
        (reader.delete, {"memory_id": id}),
        (reader.update, {"memory_id": id, "text": "x"}),
        (reader.add, {"messages": "x", "user_id": "alice"}),
        (reader.delete_all, {"user_id": "alice"}),
        (reader.delete_users, {"user_id": "alice"}),
        (reader.feedback, {"memory_id": id, "feedback": "POSITIVE"}),
    ):
        refusal(AuthenticationError, call, **given)
    assert writer.get(id)["memory"] == "I like tea"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v3/memories/add/", []),
        ("/v3/memories/add/", {}),
        ("/v3/memories/add/", {"messages": "hello"}),
        ("/v3/memories/add/", {"messages": 7, **ALICE}),
        ("/v3/memories/add/", {"messages": [7], **ALICE}),
        ("/v3/memories/add/", {"messages": [{"role": "user", "content": ""}], **ALICE}),
        ("/v3/memories/add/", {"messages": "a\0b", **ALICE}),
        ("/v3/memories/add/", {"messages": "a", "user_id": "*"}),
        ("/v3/memories/add/", {"messages": "a", "user_id": 7}),
        ("/v3/memories/add/", {"messages": "a", "user_id": "x" * 300}),
        ("/v3/memories/add/", {"messages": "a", **ALICE, "metadata": 7}),
        ("/v3/memories/add/", {"messages": "a", **ALICE, "metadata": {"mem0": 1}}),
        ("/v3/memories/add/", {"messages": "a", **ALICE, "timestamp": 1e99}),
        ("/v3/memories/add/", {"messages": "a", **ALICE, "expiration_date": "soon"}),
        ("/v3/memories/add/", {"messages": "a", **ALICE, "infer": "perhaps"}),
        ("/v3/memories/add/", {"messages": "a", **ALICE, "categories": [7]}),
        ("/v3/memories/search/", {"filters": ALICE}),
        ("/v3/memories/search/", {"query": "", "filters": ALICE}),
        ("/v3/memories/search/", {"query": "a", "filters": ALICE, "top_k": 0}),
        ("/v3/memories/search/", {"query": "a", "filters": ALICE, "top_k": 10**9}),
        ("/v3/memories/search/", {"query": "a", "filters": ALICE, "threshold": 7}),
        ("/v3/memories/search/", {"query": "a", "filters": ALICE, "fields": [7]}),
        ("/v3/memories/search/", {"query": "a", "filters": ALICE, "fields": [[]]}),
        ("/v3/memories/search/", {"query": "a"}),
        ("/v3/memories/", {}),
        ("/v3/memories/?page=-1", {"filters": ALICE}),
        ("/v3/memories/?page_size=99999", {"filters": ALICE}),
        ("/v1/feedback/", {"memory_id": NOBODY, "feedback": "MAYBE"}),
        ("/v1/feedback/", {"memory_id": 7}),
    ],
)
def test_hostile_values_are_refused_with_a_reason(
    client: Any, path: str, body: dict[str, Any]
) -> None:
    answer = client.client.post(path, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert len(answer.json()["detail"]) > 10


def test_text_in_any_script_comes_back(client: Any) -> None:
    said = ["Я живу в Москве", "我住在北京", "👩‍👩‍👧 is my family", "'; DROP TABLE memories; --"]
    ids = add(client, *said, user_id="Ünï/çødé 👍")
    assert [client.get(id)["memory"] for id in ids] == said
    assert client.get_all(filters={"user_id": "Ünï/çødé 👍"})["count"] == 4


def test_the_self_hosted_dialect(served: Served) -> None:
    with httpx.Client(base_url=served.url) as http:
        body = {"messages": [{"role": "user", "content": "I like tea"}], **ALICE}
        [made] = http.post("/memories", json=body).json()["results"]
        assert (made["memory"], made["event"]) == ("I like tea", "ADD")
        path = f"/memories/{made['id']}"
        assert http.get("/memories", params=ALICE).json()["results"][0]["id"] == made["id"]
        assert http.get("/memories").status_code == 400
        assert http.get(path).json()["memory"] == "I like tea"
        found = http.post("/search", json={"query": "tea", **ALICE}).json()["results"]
        assert [one["id"] for one in found] == [made["id"]]
        assert http.put(path, json={"text": "I like coffee"}).status_code == 200
        events = [one["event"] for one in http.get(f"{path}/history").json()]
        assert events == ["ADD", "UPDATE"]
        assert http.delete("/memories").status_code == 400
        assert http.delete(path).status_code == 200
        assert http.get(path).status_code == 404
        http.post("/memories", json=body)
        http.delete("/memories", params={"user_id": "bob"})
        assert len(http.get("/memories", params=ALICE).json()["results"]) == 1
        assert http.post("/reset").status_code == 200
        assert http.get("/memories", params=ALICE).json()["results"] == []
        refused = http.post("/configure", json={"vector_store": {}})
        assert (refused.status_code, "configured" in refused.json()["detail"]) == (501, True)


def test_the_same_on_postgresql(postgres_url: str) -> None:
    with serving(Memory(postgres_url)) as served, httpx.Client(base_url=served.url) as http:
        for said in ("I live in Lisbon.", "I like tea.", "I moved to Berlin."):
            body = {"messages": said, "app_id": "web", "expiration_date": "2999-01-01", **ALICE}
            answer = http.post("/v3/memories/add/", json=body)
        event = http.get(f"/v1/event/{answer.json()['event_id']}/").json()
        assert (event["status"], len(event["results"])) == ("SUCCEEDED", 1)
        filters = {"OR": [ALICE, {"app_id": "web"}]}
        listed = http.post("/v3/memories/", json={"filters": filters}).json()
        assert (listed["count"], texts(listed)) == (2, ["I moved to Berlin.", "I like tea."])
        asked = {"query": "Where do I live?", "filters": filters}
        found = http.post("/v3/memories/search/", json=asked).json()
        assert texts(found)[0] == "I moved to Berlin."
        assert len(http.get("/v1/entities/").json()["results"]) == 2
        assert http.delete("/v1/memories/", params={"app_id": "web"}).status_code == 200
        assert http.get("/v1/entities/").json()["results"] == []


def test_private_data_is_taken_out_and_the_event_is_still_found(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "redacted.db")
    with serving(memory, redact="all") as served, httpx.Client(base_url=served.url) as http:
        body = {"messages": "Write to ana@example.com", "metadata": {"of": "a@b.example"}, **ALICE}
        event = http.post("/v3/memories/add/", json=body).json()["event_id"]
        [result] = http.get(f"/v1/event/{event}/").json()["results"]
        assert result["memory"] == "Write to [email]"
        assert http.get(f"/v1/memories/{result['id']}/").json()["metadata"] == {"of": "[email]"}


def test_the_async_client(served: Served) -> None:
    from mem0 import AsyncMemoryClient

    async def use() -> None:
        async with AsyncMemoryClient(api_key="any", host=served.url) as client:
            await client.add("I live in Lisbon.", user_id="alice")
            await client.add("I moved to Berlin.", user_id="alice")
            found = await client.search("Where do I live?", filters=ALICE)
            assert texts(found)[0] == "I moved to Berlin."
            listed = await client.get_all(filters=ALICE, page=1, page_size=10)
            assert texts(listed) == ["I moved to Berlin."]
            id = listed["results"][0]["id"]
            await client.update(id, text="I moved to Munich.")
            assert (await client.get(id))["memory"] == "I moved to Munich."
            assert len(await client.history(id)) == 2
            await client.feedback(id, "NEGATIVE")
            await client.batch_update([{"memory_id": id, "metadata": {"a": 1}}])
            assert (await client.users())["results"][0]["name"] == "alice"
            await client.batch_delete([{"memory_id": id}])
            assert texts(await client.get_all(filters=ALICE)) == ["I live in Lisbon."]
            await client.delete(listed_id(await client.get_all(filters=ALICE)))
            await client.add("I like tea", user_id="alice")
            await client.delete_all(user_id="alice")
            assert (await client.users())["results"] == []
            await client.add("I like tea", user_id="alice")
            await client.delete_users(user_id="alice")
            assert (await client.get_all(filters=ALICE))["count"] == 0

    asyncio.run(use())


def listed_id(found: dict[str, Any]) -> str:
    return str(found["results"][0]["id"])


@pytest.mark.parametrize(
    "own", [5, [], {"categories": 5, "origin": ["x"]}, {"app_id": ["a"], "expiration_date": {}}]
)
def test_what_others_wrote_in_its_place_breaks_nothing(own: object) -> None:
    with serving() as served:
        served.memory.add("Ana likes tea", user_id="ana", metadata={"mem0": own})
        where = {"filters": {"user_id": "ana"}}
        for method, path, body in (
            ("GET", "/v1/events/", None),
            ("GET", "/v1/entities/", None),
            ("POST", "/v3/memories/", where),
            ("POST", "/v3/memories/search/", {"query": "tea", **where}),
        ):
            answer = httpx.request(method, served.url + path, json=body, timeout=HANG_S)
            assert answer.status_code == 200, (path, answer.text)
