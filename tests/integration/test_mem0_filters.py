"""mem0's filters: what each finds, and which are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from remanence import Memory
from remanence.testing.serving import serving

A, B, C, D, E = "a plum", "a pear", "an apple", "a quince", "a grape"
STORED: tuple[tuple[str, dict[str, Any]], ...] = (
    (A, {"user_id": "ann", "metadata": {"n": 1, "tag": "x"}, "timestamp": "2024-01-10"}),
    (B, {"user_id": "ann", "agent_id": "bot", "metadata": {"n": 2}, "timestamp": "2024-02-10"}),
    (C, {"user_id": "ben", "agent_id": "bot", "run_id": "r1", "timestamp": "2024-03-10"}),
    (D, {"agent_id": "bot", "app_id": "web", "categories": ["food"], "timestamp": "2024-04-10"}),
    (E, {"user_id": "cat", "app_id": "web", "metadata": {"n": 5, "tags": ["x", "y"]}}),
)
ANYBODY = {"user_id": "*"}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    file: Path = tmp_path_factory.mktemp("mem0") / "memory.db"
    with serving(Memory(file)) as served, httpx.Client(base_url=served.url) as client:
        for text, given in STORED:
            answer = client.post("/v3/memories/add/", json={"messages": text, **given})
            assert answer.status_code == 200, answer.text
        yield client


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"user_id": "ann"}, [A, B]),
        ({"user_id": "nobody"}, []),
        (ANYBODY, [A, B, C, D, E]),
        ({"user_id": {"in": ["ann", "ben"]}}, [A, B, C]),
        ({"user_id": ["ann", "cat"]}, [A, B, E]),
        ({"AND": [{"user_id": "ann"}, {"agent_id": "bot"}]}, [B]),
        ({"AND": [{"user_id": "ann"}, {"user_id": "ben"}]}, []),
        ({"OR": [{"user_id": "ann"}, {"user_id": "ben"}]}, [A, B, C]),
        ({"OR": [{"user_id": "ann"}, {"agent_id": "bot"}]}, [A, B, C, D]),
        ({"OR": [{"user_id": "*"}, {"agent_id": "bot"}]}, [A, B, C, D, E]),
        ({"OR": [{"AND": [{"user_id": "ann"}, {"n": 1}]}, {"run_id": "r1"}]}, [A, C]),
        ({"agent_id": "bot"}, [B, C, D]),
        ({"agent_id": "*"}, [B, C, D]),
        ({"agent_id": {"ne": "bot"}, **ANYBODY}, [A, E]),
        ({"run_id": "r1"}, [C]),
        ({"app_id": "web"}, [D, E]),
        ({"app_id": "*"}, [D, E]),
        ({"app_id": {"in": ["web", "ios"]}}, [D, E]),
        ({**ANYBODY, "NOT": {"agent_id": "bot"}}, [A, E]),
        ({**ANYBODY, "NOT": [{"agent_id": "bot"}, {"app_id": "web"}]}, [A]),
        ({"$and": [ANYBODY, {"$not": {"app_id": "web"}}]}, [A, B, C]),
        ({**ANYBODY, "metadata": {"n": 1}}, [A]),
        ({**ANYBODY, "metadata": {"n": {"gte": 2}}}, [B, E]),
        ({**ANYBODY, "n": {"gt": 1, "lt": 5}}, [B]),
        ({**ANYBODY, "n": {"lte": 2}}, [A, B]),
        ({**ANYBODY, "n": {"in": [1, 5]}}, [A, E]),
        ({**ANYBODY, "n": {"nin": [1, 5]}}, [B, C, D]),
        ({**ANYBODY, "n": "*"}, [A, B, E]),
        ({**ANYBODY, "tag": {"ne": "x"}}, [B, C, D, E]),
        ({**ANYBODY, "tags": {"contains": "y"}}, [E]),
        ({**ANYBODY, "categories": {"contains": "food"}}, [D]),
        ({**ANYBODY, "categories": {"in": ["food", "work"]}}, [D]),
        ({**ANYBODY, "keywords": {"icontains": "PEAR"}}, [B]),
        ({**ANYBODY, "created_at": {"gte": "2024-02-10", "lte": "2024-03-10"}}, [B, C]),
        ({**ANYBODY, "created_at": {"gt": "2024-02-10", "lt": "2024-04-10"}}, [C]),
        ({**ANYBODY, "created_at": "2024-01-10"}, [A]),
        ({**ANYBODY, "created_at": {"lt": "2024-01-10T00:00:01Z"}}, [A]),
        ({**ANYBODY, "created_at": {"lt": 1_704_900_000}}, [A]),
    ],
)
def test_a_filter_finds(http: httpx.Client, filters: dict[str, Any], found: list[str]) -> None:
    listed = http.post("/v3/memories/", json={"filters": filters}).json()
    assert sorted(one["memory"] for one in listed["results"]) == sorted(found)
    assert listed["count"] == len(found)
    body = {"query": "fruit", "filters": filters, "threshold": 0}
    searched = http.post("/v3/memories/search/", json=body).json()["results"]
    assert sorted(one["memory"] for one in searched) == sorted(found)
    newest = [one["created_at"] for one in listed["results"]]
    assert newest == sorted(newest, reverse=True)


def test_pages_over_several_users_hold_each_memory_once(http: httpx.Client) -> None:
    filters = {"OR": [{"user_id": "ann"}, {"agent_id": "bot"}, {"user_id": "cat"}]}
    seen = []
    for page in (1, 2, 3):
        query = {"page": page, "page_size": 2}
        answer = http.post("/v3/memories/", json={"filters": filters}, params=query).json()
        assert answer["count"] == 5
        seen += [one["memory"] for one in answer["results"]]
    assert seen == [E, D, C, B, A]


def test_conditions_may_stand_beside_the_filters(http: httpx.Client) -> None:
    body: dict[str, Any] = {
        "filters": ANYBODY,
        "start_date": "2024-02-01",
        "end_date": "2024-03-10",
    }
    found = http.post("/v3/memories/", json=body).json()["results"]
    assert [one["memory"] for one in found] == [C, B]
    body |= {"query": "fruit", "categories": ["food"], "threshold": 0}
    found = http.post("/v3/memories/search/", json=body).json()["results"]
    assert [one["memory"] for one in found] == [D]


def deep(levels: int) -> dict[str, Any]:
    return {"AND": [deep(levels - 1)]} if levels else {"user_id": "ann"}


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({}, "at least one of"),
        (None, "at least one of"),
        ("user_id", "must be an object"),
        ({"n": 1}, "at least one of"),
        ({"metadata": {"user_id": "ann"}}, "at least one of"),
        ({**ANYBODY, "n": {"like": 1}}, "Unknown operator 'like'; known: eq"),
        ({**ANYBODY, "n": {}}, "no operator"),
        ({**ANYBODY, "n": {"in": 1}}, "list of values"),
        ({**ANYBODY, "n; DROP TABLE": 1}, "not allowed"),
        ({"user_id": {"ne": "ann"}}, "user_id takes"),
        ({"NOT": {"user_id": "ann"}}, "cannot be left out"),
        ({"user_id": 7}, "must be text"),
        ({"user_id": [f"u{n}" for n in range(60)]}, "at most 50"),
        ({"agent_id": {"contains": "b"}}, "use eq or in"),
        ({**ANYBODY, "created_at": {"gte": "yesterday"}}, "2026-05-01T09:30:00Z"),
        ({**ANYBODY, "created_at": {"in": ["2024-01-01"]}}, "A time takes"),
        ({"AND": ["ann"]}, "A filter is an object"),
        (deep(40), "nested deeper"),
        ({**ANYBODY, "OR": [{"n": n} for n in range(300)]}, "more than 256"),
    ],
)
def test_a_filter_is_refused(http: httpx.Client, filters: Any, reason: str) -> None:
    for path in ("/v3/memories/", "/v3/memories/search/"):
        answer = http.post(path, json={"filters": filters, "query": "fruit"})
        assert (answer.status_code, reason in answer.json()["detail"]) == (400, True), answer.text
