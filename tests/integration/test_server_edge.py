"""The edge of a server: what browsers, proxies, guessers and odd HTTP may do, on real sockets."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial

import httpx
import pytest

from remanence.server import wire
from remanence.server.wire import PIPELINED, Wire
from remanence.testing.patience import HANG_S, until
from remanence.testing.serving import Served, serving
from support import http

HOST = b"host: localhost\r\n"
KIND = b"content-type: application/json\r\n"
END = b"connection: close\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


def connected(server: Served, of: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(
        ("127.0.0.1", httpx.URL(server.url).port or 0), HANG_S, source_address=(of, 0)
    )


def said(line: socket.socket, sent: bytes = b"") -> bytes:
    """All that is answered until the server hangs up."""
    told = b""
    try:
        line.sendall(sent)
        while piece := line.recv(65_536):
            told += piece
    except ConnectionError:
        pass
    return told


def asked(server: Served, sent: bytes) -> bytes:
    with closing(connected(server)) as line:
        return said(line, sent)


def status_of(told: bytes) -> int:
    return int(told.split(b" ", 2)[1])


def is_open(line: socket.socket) -> bool:
    """Whether the server still holds a connection on which it has nothing to say."""
    line.setblocking(False)
    try:
        return line.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


DATA = ("/v1/stats", "/v1/memories", "/memory/stats", "/metrics", "/mcp", "/v1/ping/", "/v1/export")
SITES = ("cross-site", "same-site", "Cross-Site", "cross-origin", "", "same-origin, cross-site")
DOCUMENT = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


class TestPages:
    @pytest.mark.parametrize("site", SITES)
    def test_those_of_others_get_no_data_and_change_nothing(
        self, site: str, server: Served
    ) -> None:
        for more in ({}, DOCUMENT, {**DOCUMENT, "sec-fetch-dest": "iframe"}):
            headers = {"sec-fetch-site": site, **more}
            for path in DATA:
                answer = http.get(server.url + path, headers=headers)
                assert answer.status_code == 403, path
                assert answer.json()["type"] == "urn:remanence:wrong-origin"
            for path in ("/v1/memories", "/memory/store", "/mcp", "/v3/memories/add/", "/"):
                answer = http.post(server.url + path, json={"text": "a"}, headers=headers)
                assert answer.status_code == 403, path
        assert server.memory.count(all_users=True) == 0

    @pytest.mark.parametrize("site", ["same-origin", "none", "Same-Origin"])
    def test_its_own_and_what_somebody_typed_in_do(self, site: str, server: Served) -> None:
        headers = {"sec-fetch-site": site}
        assert http.get(f"{server.url}/v1/stats", headers=headers).status_code == 200

    def test_a_link_from_elsewhere_opens_pages(self, server: Served) -> None:
        headers = {"sec-fetch-site": "cross-site", **DOCUMENT}
        assert http.get(f"{server.url}/health", headers=headers).status_code == 200
        assert http.get(f"{server.url}/", headers=headers).status_code != 403
        assert http.post(f"{server.url}/", headers=headers).status_code == 403

    def test_a_key_makes_no_difference_and_an_allowed_page_does(self) -> None:
        with serving(origins="https://app.example") as served:
            key = served.key("read", "write")
            headers = {**bearer(key), "sec-fetch-site": "cross-site"}
            url = f"{served.url}/v1/stats"
            assert http.get(url, headers=headers).status_code == 403
            headers["origin"] = "https://app.example"
            assert http.get(url, headers=headers).status_code == 200
            headers["origin"] = "https://evil.example"
            assert http.get(url, headers=headers).status_code == 403

    @pytest.mark.parametrize(
        "kind",
        [
            *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"),
            *("application/jsonp", "text/json", "application/json, text/plain", "*/*"),
        ],
    )
    def test_what_a_form_can_send_is_no_body(self, kind: str, server: Served) -> None:
        paths = ("/v1/memories", "/memory/store", "/mcp", "/v1/chat/completions", "/search")
        for path in (*paths, "/v3/memories/add/", "/v1/admin/keys"):
            headers = {"content-type": kind}
            answer = http.post(server.url + path, content=b'{"text": "a"}', headers=headers)
            assert answer.status_code == 400, path
        assert server.memory.count(all_users=True) == 0

    def test_a_page_has_to_say_that_it_is_json(self, server: Served) -> None:
        """A program need not; without a type, a page may send a body and ask nobody."""
        url, body = f"{server.url}/v1/search", b'{"query": "a"}'
        assert http.post(url, content=body).status_code == 200
        for headers in ({"origin": server.url}, {"sec-fetch-site": "same-origin"}):
            assert http.post(url, content=body, headers=headers).status_code == 400
            typed = {**headers, "content-type": "application/json; charset=utf-8"}
            assert http.post(url, content=body, headers=typed).status_code == 200

    @pytest.mark.parametrize("path", ["/health", "/v1/stats", "/nothing", "/mcp", "/v1/export"])
    def test_every_answer_keeps_pages_out(self, path: str, server: Served) -> None:
        for headers in ({}, {"host": "evil.example"}, {"sec-fetch-site": "cross-site"}):
            told = http.get(server.url + path, headers=headers).headers
            assert told["cross-origin-resource-policy"] == "same-origin"
            assert told["x-content-type-options"] == "nosniff"
            assert told["x-frame-options"] == "DENY"
            assert "default-src 'none'" in told["content-security-policy"]
            assert told["referrer-policy"] == "no-referrer"
            assert told["cache-control"] == "no-store"
            names = [name for name, _ in told.multi_items()]
            assert len(names) == len(set(names))


class TestGuesses:
    @pytest.fixture
    def guarded(self) -> Iterator[Served]:
        with serving(wrong_keys=5) as served:
            yield served

    def test_wrong_keys_are_slowed_down_and_right_ones_are_not(self, guarded: Served) -> None:
        right, url = guarded.key("read", tenant="a"), f"{guarded.url}/v1/stats"
        seen: Counter[int] = Counter()
        for number in range(60):
            told = http.get(url, headers=bearer(f"rem_abcdefgh_{number:040x}"))
            seen[told.status_code] += 1
            if told.status_code == 429:
                assert int(told.headers["retry-after"]) >= 1
                assert told.headers["content-type"] == "application/problem+json"
                fresh = guarded.key("read", tenant="b", name=f"new {number}")
                assert http.get(url, headers=bearer(fresh)).status_code == 200
            assert http.get(url, headers=bearer(right)).status_code == 200
        assert seen[401] >= 5
        assert seen[429] >= 1
        assert set(seen) == {401, 429}

    def test_a_key_that_others_guess_at_is_let_in(self, guarded: Served) -> None:
        """Its prefix is no secret: it stands in what the key has written."""
        right, url = guarded.key("read"), f"{guarded.url}/v1/stats"
        prefix = right.rpartition("_")[0]
        told = [
            http.get(url, headers=bearer(f"{prefix}_{number:040x}")).status_code
            for number in range(40)
        ]
        assert told[:5] == [401] * 5
        assert set(told) == {401, 429}
        assert http.get(url, headers=bearer(right)).status_code == 200

    def test_the_same_wrong_key_is_not_looked_at_while_it_waits(
        self, guarded: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prefix = guarded.key("read").rpartition("_")[0]
        looked: list[str] = []
        real = type(guarded.app.state.keys).caller

        def look(keys: object, shown: str) -> object:
            looked.append(shown)
            return real(keys, shown)  # type: ignore[arg-type]

        monkeypatch.setattr(type(guarded.app.state.keys), "caller", look)
        url, wrong = f"{guarded.url}/v1/stats", bearer(f"{prefix}_{0:040x}")
        told = [http.get(url, headers=wrong).status_code for _ in range(40)]
        assert told[:5] == [401] * 5
        assert len(looked) == told.count(401) < 40
        assert set(told) == {401, 429}

    def test_it_is_told_nowhere_which_prefixes_there_are(self, guarded: Served) -> None:
        right, url = guarded.key("read"), f"{guarded.url}/v1/stats"
        prefix = right.rpartition("_")[0]
        shown = (f"{prefix}_{0:040x}", f"rem_zzzzzzzz_{0:040x}", "nonsense", f"{right}0", "a.b.c")
        told = [http.get(url, headers=bearer(one)) for one in shown]
        assert {one.status_code for one in told} == {401}
        assert len({one.json()["detail"] for one in told}) == 1

    def test_a_key_that_was_revoked_is_no_guess_either(self, guarded: Served) -> None:
        right, url = guarded.key("read"), f"{guarded.url}/v1/stats"
        guarded.app.state.keys.revoke(right.split("_")[1])
        told = {http.get(url, headers=bearer(right)).status_code for _ in range(30)}
        assert told == {401}

    def test_no_key_is_no_guess(self, guarded: Served) -> None:
        guarded.key("read")
        seen = {http.get(f"{guarded.url}/v1/stats").status_code for _ in range(30)}
        assert seen == {401}

    def test_a_trusted_proxy_is_not_taken_for_who_guesses(self) -> None:
        with serving(wrong_keys=3, trusted_proxies="127.0.0.1") as served:
            served.key("read")

            def guess(number: int, address: str) -> int:
                shown = bearer(f"rem_abcdefgh_{number:040x}")
                headers = {**shown, "x-forwarded-for": f"9.9.9.{number}, {address}"}
                return http.get(f"{served.url}/v1/stats", headers=headers).status_code

            assert 429 in {guess(number, "198.51.100.1") for number in range(12)}
            assert guess(1, "198.51.100.2") == 401


class TestOddHttp:
    def test_what_trails_a_body_is_no_header(self, server: Served) -> None:
        body = b'{"query": "a"}'
        head = b"POST /v1/search HTTP/1.1\r\n" + HOST + KIND + END
        chunked = b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(body), body)
        for trailer in (b"origin: http://evil.example", b"x-forwarded-for: 1.2.3.4"):
            assert status_of(asked(server, head + chunked + trailer + b"\r\n\r\n")) == 200

    def test_it_authorises_nobody(self) -> None:
        with serving() as served:
            shown = f"authorization: Bearer {served.key('read')}\r\n".encode()
            head = b"POST /v1/search HTTP/1.1\r\n" + HOST + KIND + END
            chunked = b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
            assert status_of(asked(served, head + chunked + shown + b"\r\n")) == 401

    def test_a_body_that_the_parser_would_lose_is_refused(self, server: Served) -> None:
        """Taken for empty, it could mean more than it says."""
        head = b"POST /v1/search HTTP/1.1\r\n" + HOST + KIND + b"connection: upgrade\r\n"
        for upgrade in (b"upgrade: h2c\r\n", b"upgrade: websocket\r\n"):
            told = asked(server, head + upgrade + b"content-length: 14\r\n\r\n" + b'{"query": "a"}')
            assert status_of(told) == 400
            assert told.count(b"HTTP/1.1 4") == 1
            assert b"HTTP/1.1 2" not in told
        plain = head.replace(b"POST /v1/search", b"GET /v1/stats") + b"upgrade: h2c\r\n\r\n"
        assert status_of(asked(server, plain)) == 200

    def test_requests_wait_in_order_and_not_without_end(self, server: Served) -> None:
        one = b"GET /health HTTP/1.1\r\n" + HOST
        told = asked(server, (one + b"\r\n") * PIPELINED + one + END + b"\r\n")
        assert told.count(b"HTTP/1.1 200 OK") == PIPELINED + 1
        many = asked(server, (one + b"\r\n") * 5_000)
        assert 1 <= many.count(b"HTTP/1.1 200 OK") <= PIPELINED + 1
        assert many.count(b"HTTP/1.1") == many.count(b"HTTP/1.1 200 OK")

    def test_an_answer_that_is_due_comes_before_a_refusal(self, server: Served) -> None:
        one = b"GET /v1/stats HTTP/1.1\r\n" + HOST + b"\r\n"
        told = asked(server, one + b"\0 this is no request\r\n\r\n")
        assert status_of(told) == 200
        head, _, body = told.partition(b"\r\n\r\n")
        assert json.loads(body[: int(head.lower().split(b"content-length: ")[1].split()[0])])

    def test_what_cannot_be_read_is_refused_as_a_problem(self, server: Served) -> None:
        for sent in (b"\0\0\0\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\n" + HOST + b"\r\n"):
            told = asked(server, sent)
            assert status_of(told) == 400
            assert b"application/problem+json" in told
            assert b"urn:remanence:malformed" in told


class TestRoom:
    @pytest.fixture
    def few(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
        """A server of eight connections, four for each address, whatever address it is."""
        monkeypatch.setattr(wire, "LOOPBACK", ())
        with serving(connections=8, connections_per_address=4) as served:
            yield served

    def test_an_address_loses_its_own_oldest(self, few: Served) -> None:
        with ExitStack() as lines:
            enter = lines.enter_context
            others = enter(closing(connected(few, "127.0.0.3")))
            own = [enter(closing(connected(few, "127.0.0.2"))) for _ in range(5)]
            until(lambda: not is_open(own[0]))
            assert [is_open(line) for line in own] == [False, True, True, True, True]
            assert is_open(others)

    def test_a_new_caller_gets_in_and_whoever_has_most_makes_room(self, few: Served) -> None:
        with ExitStack() as lines:
            enter = lines.enter_context
            alone = enter(closing(connected(few, "127.0.0.9")))
            crowd = [
                enter(closing(connected(few, f"127.0.0.{2 + number // 4}"))) for number in range(7)
            ]
            asked = b"GET /health HTTP/1.1\r\n" + HOST + END + b"\r\n"
            for address in ("127.0.0.7", "127.0.0.8"):
                with closing(connected(few, address)) as line:
                    assert status_of(said(line, asked)) == 200
            until(lambda: sum(map(is_open, crowd)) < 7)
            assert is_open(alone)

    def test_an_answer_that_is_not_yet_sent_is_not_cut_off(self, few: Served) -> None:
        with ExitStack() as lines:
            enter = lines.enter_context
            slow = enter(socket.socket())
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            slow.settimeout(HANG_S)
            slow.connect(("127.0.0.1", httpx.URL(few.url).port or 0))
            slow.sendall(b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n")
            told = slow.recv(1)
            for number in range(12):
                enter(closing(connected(few, f"127.0.0.{3 + number}")))
            with slow.makefile("rb") as rest:
                while not told.endswith(b"\r\n\r\n"):
                    told += rest.readline()
                length = int(told.lower().partition(b"content-length: ")[2].split()[0])
                assert len(rest.read(length)) == length

    def test_who_is_known_stays_while_strangers_wait(self, few: Served) -> None:
        shown = f"authorization: Bearer {few.key('read')}\r\n".encode()
        ask = b"GET /v1/stats HTTP/1.1\r\n" + HOST + shown + b"\r\n"
        with ExitStack() as lines:
            enter = lines.enter_context
            known = enter(closing(connected(few, "127.0.0.2")))
            known.sendall(ask)
            assert status_of(known.recv(65_536)) == 200
            crowd = [
                enter(closing(connected(few, f"127.0.0.{3 + number // 3}"))) for number in range(30)
            ]
            until(partial(_few_are_open, crowd))
            known.setblocking(True)
            known.sendall(ask)
            assert status_of(known.recv(65_536)) == 200

    def test_where_nobody_can_be_let_go_it_is_said(
        self, few: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Wire, "use", None)  # the server is at work for each of them
        with ExitStack() as lines:
            for _ in range(4):
                lines.enter_context(closing(connected(few, "127.0.0.2")))
            line = lines.enter_context(closing(connected(few, "127.0.0.2")))
            told = said(line)
            assert status_of(told) == 503
            assert b"retry-after: 1\r\n" in told
            assert b"urn:remanence:overloaded" in told

    def test_one_key_is_refused_what_others_need(self) -> None:
        with serving(connections=40) as served:
            greedy, modest = served.key("read", tenant="a"), served.key("read", tenant="b")
            head = b"POST /v1/search HTTP/1.1\r\n" + HOST + KIND + b"content-length: 99\r\n"
            shown = f"authorization: Bearer {greedy}\r\n\r\n".encode()
            with ExitStack() as lines:
                enter = lines.enter_context
                for _ in range(10):
                    enter(closing(connected(served))).sendall(head + shown + b"{")
                url = f"{served.url}/v1/stats"
                until(lambda: http.get(url, headers=bearer(greedy)).status_code == 429)
                told = http.get(url, headers=bearer(greedy))
                assert told.json()["detail"].startswith("This key has its share of requests")
                assert told.headers["retry-after"] == "1"
                assert http.get(url, headers=bearer(modest)).status_code == 200
            until(lambda: http.get(url, headers=bearer(greedy)).status_code == 200)

    def test_bodies_have_room_for_all_as_well(self) -> None:
        with serving(bodies_mb=4, max_body_mb=1) as served:
            greedy, modest = served.key("read", tenant="a"), served.key("read", tenant="b")
            big = b'{"query": "' + b"a" * 700_000
            head = b"POST /v1/search HTTP/1.1\r\n" + HOST + KIND + b"content-length: 1000000\r\n"
            shown = f"authorization: Bearer {greedy}\r\n\r\n".encode()
            body = {"query": "b" * 700_000}
            with ExitStack() as lines:
                url = f"{served.url}/v1/search"

                def hold() -> None:
                    """Send half a body; one that comes beside a whole one may be refused."""
                    with suppress(OSError):
                        lines.enter_context(closing(connected(served))).sendall(head + shown + big)

                def ask(key: str) -> httpx.Response:
                    return http.post(url, json=body, headers=bearer(key), timeout=HANG_S)

                hold()
                until(lambda: ask(greedy).status_code == 429 or hold())
                assert "bodies" in ask(greedy).json()["detail"]
                assert ask(modest).status_code != 429
            until(lambda: ask(greedy).status_code != 429)


def _few_are_open(crowd: list[socket.socket]) -> bool:
    return sum(map(is_open, crowd)) <= 7


def test_figures_of_the_store_are_its_operators(server: Served) -> None:
    with serving() as served:
        served.memory.add("of the default tenant", user_id="ana")
        other = served.key("admin", tenant="other")
        told = http.get(f"{served.url}/metrics", headers=bearer(other))
        assert told.status_code == 200
        names = {one.split("{")[0].split(" ")[0] for one in told.text.splitlines()}
        assert {name for name in names if name != "#"} <= {
            "remanence_memories",
            "remanence_pending",
        }
        assert "remanence_memories{" not in told.text
        operator = served.key("read", tenant="watch", operator=True)
        told = http.get(f"{served.url}/metrics", headers=bearer(operator))
        assert "remanence_request_seconds_bucket" in told.text
        reader = served.key("read", "write")
        told = http.get(f"{served.url}/metrics", headers=bearer(reader))
        assert told.status_code == 403
        assert "--operator" in told.json()["detail"]
