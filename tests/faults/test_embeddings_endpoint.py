"""An embeddings endpoint that is down, slow, busy or wrong."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from remanence.backends.embedding.http import HttpEmbedder
from remanence.errors import EmbedderUnavailable
from remanence.testing.patience import HANG_S
from support.embeddings_server import Answer, EmbeddingsServer, Request, embeddings_json

GOOD = Answer(embeddings_json([[3.0, 4.0]]))


def embedder(url: str, **options: Any) -> HttpEmbedder:
    return HttpEmbedder(url, "model", **{"retries": 2, "backoff_s": 0.01, "timeout_s": 5} | options)


def in_turn(*answers: Answer) -> Callable[[Request], Answer]:
    left = iter(answers)
    return lambda request: next(left)


def test_a_good_answer_is_brought_to_unit_length() -> None:
    with EmbeddingsServer(in_turn(GOOD)) as server:
        found = embedder(server.url, api_key="secret").embed_query("hello")
    assert found.vector == pytest.approx([0.6, 0.8])
    [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.body["model"] == "model"


def test_numbers_of_any_size_are_brought_to_unit_length() -> None:
    with EmbeddingsServer(in_turn(Answer(embeddings_json([[3e200, 4e200]])))) as server:
        assert embedder(server.url).embed_query("hello").vector == pytest.approx([0.6, 0.8])


def test_answers_out_of_order_are_put_in_order() -> None:
    rows = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]
    with EmbeddingsServer(in_turn(Answer(json.dumps({"data": rows})))) as server:
        first, second = embedder(server.url).embed(["a", "b"])
    assert np.array_equal([first.vector, second.vector], np.eye(2))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(status: int) -> None:
    with EmbeddingsServer(in_turn(Answer("busy", status), Answer("busy", status), GOOD)) as server:
        assert len(embedder(server.url).embed(["hello"])) == 1
    assert len(server.requests) == 3


def test_an_endpoint_that_stays_busy_is_given_up() -> None:
    with (
        EmbeddingsServer(lambda request: Answer("overloaded", 503)) as server,
        pytest.raises(EmbedderUnavailable, match="503: overloaded"),
    ):
        embedder(server.url).embed(["hello"])
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "API key"), (404, "name of the model"), (418, "OpenAI-compatible")]
)
def test_a_refusal_is_final_and_explained(status: int, advice: str) -> None:
    with (
        EmbeddingsServer(lambda request: Answer("no", status)) as server,
        pytest.raises(EmbedderUnavailable, match=advice),
    ):
        embedder(server.url).embed(["hello"])
    assert len(server.requests) == 1


def test_an_endpoint_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(EmbedderUnavailable, match="Is it running"):
        embedder(f"http://127.0.0.1:{port}/v1").embed(["hello"])


@pytest.mark.parametrize("url", ["", "localhost", "ftp://localhost/v1", "http://[/v1"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(EmbedderUnavailable):
        embedder(url, retries=0).embed(["hello"])


def test_an_endpoint_that_hangs() -> None:
    enough = threading.Event()

    def hang(request: Request) -> Answer:
        enough.wait(HANG_S)
        return GOOD

    with EmbeddingsServer(hang) as server:
        with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
            embedder(server.url, timeout_s=0.2, retries=0).embed(["hello"])
        enough.set()


WRONG = {
    "html": "<html>welcome</html>",
    "no data": "{}",
    "a list": "[1]",
    "an error": '{"error": "model not loaded"}',
    "no vector": '{"data": [{"index": 0}]}',
    "text": '{"data": [{"index": 0, "embedding": "AAAA"}]}',
    "too few": embeddings_json([[1.0, 2.0]]),
    "ragged": embeddings_json([[1.0, 2.0], [1.0]]),
    "no numbers": embeddings_json([[], []]),
    "nested": json.dumps({"data": [{"index": at, "embedding": [[1.0]]} for at in (0, 1)]}),
    "not a number": embeddings_json([[1.0, float("nan")], [1.0, 2.0]]),
    "infinite": embeddings_json([[1.0, float("inf")], [1.0, 2.0]]),
    "zero": embeddings_json([[0.0, 0.0], [1.0, 2.0]]),
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_is_never_a_vector(body: str) -> None:
    with (
        EmbeddingsServer(in_turn(Answer(body))) as server,
        pytest.raises(EmbedderUnavailable, match=server.url),
    ):
        embedder(server.url).embed(["a", "b"])


def test_a_dimension_that_changes_is_noticed() -> None:
    other = Answer(embeddings_json([[1.0, 2.0, 3.0]]))
    with EmbeddingsServer(in_turn(GOOD, other)) as server:
        http = embedder(server.url)
        assert http.fingerprint.dimension == 2
        with pytest.raises(EmbedderUnavailable, match="3 dimensions instead of 2"):
            http.embed(["hello"])


def test_a_dimension_that_was_promised_is_checked() -> None:
    with (
        EmbeddingsServer(in_turn(GOOD)) as server,
        pytest.raises(EmbedderUnavailable, match="2 dimensions instead of 384"),
    ):
        embedder(server.url, dimension=384).embed(["hello"])
