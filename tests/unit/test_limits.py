"""How often a caller may call, how much it may hold, and how long who guesses has to wait."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_network

import pytest

from remanence.errors import RateLimited
from remanence.server.access import limits as module
from remanence.server.access.gate import NOWHERE, caller_address, forwarded, holder_of
from remanence.server.access.limits import FORGOTTEN_S, LONGEST_WAIT_S, Backoff, Limits, Shares
from remanence.server.problems import Overloaded


@dataclass
class Ticks:
    """A monotonic clock that is moved by hand."""

    at: float = 50.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


def test_a_minutes_calls_pass_and_then_one_a_share_of_it(ticks: Ticks) -> None:
    limits = Limits(60, ticks)
    assert [limits.take("a") for _ in range(60)] == [0.0] * 60
    assert limits.take("a") == pytest.approx(1.0)
    assert limits.take("a") == pytest.approx(1.0), "a call that must wait is not counted"
    ticks.at += 0.25
    assert limits.take("a") == pytest.approx(0.75)
    ticks.at += 0.75
    assert limits.take("a") == 0
    assert limits.take("a") > 0


def test_it_fills_up_to_a_minutes_calls_and_no_further(ticks: Ticks) -> None:
    limits = Limits(6, ticks)
    assert limits.take("a") == 0
    ticks.at += 3_600
    assert sum(limits.take("a") == 0 for _ in range(20)) == 6


def test_each_name_has_its_own(ticks: Ticks) -> None:
    limits = Limits(1, ticks)
    assert limits.take("a") == 0
    assert limits.take("a") == pytest.approx(60)
    assert limits.take("b") == 0


def test_a_key_may_have_a_limit_of_its_own(ticks: Ticks) -> None:
    limits = Limits(1_000, ticks)
    assert [limits.take("a", 2) == 0 for _ in range(3)] == [True, True, False]
    assert Limits(1, ticks).take("b", 2) == 0
    assert sum(limits.take("c", 0) == 0 for _ in range(5_000)) == 5_000


def test_zero_is_no_limit(ticks: Ticks) -> None:
    limits = Limits(0, ticks)
    assert all(limits.take("a") == 0 for _ in range(1_000))
    assert limits._buckets == {}


def test_a_clock_that_goes_back_gives_nothing_away(ticks: Ticks) -> None:
    limits = Limits(1, ticks)
    assert limits.take("a") == 0
    ticks.at -= 30
    assert limits.take("a") == pytest.approx(60)


def test_so_many_names_are_kept(ticks: Ticks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NAMES", 100)
    limits = Limits(1, ticks)
    for n in range(1_000):
        limits.take(f"name {n}")
        limits.take("busy")
    assert len(limits._buckets) == 100
    assert limits.take("busy") > 0, "who calls all the time is never dropped"


@pytest.mark.slow
def test_many_threads_take_no_more_than_there_is(ticks: Ticks) -> None:
    limits = Limits(500, ticks)
    with ThreadPoolExecutor(8) as pool:
        passed = sum(wait == 0 for wait in pool.map(lambda _: limits.take("a"), range(4_000)))
    assert passed == 500


def held(shares: Shares, tenant: str, name: str = "key") -> int:
    """How many of them a caller who wants everything gets."""
    count = 0
    try:
        while count < 10_000:
            shares.take(tenant, name)
            count += 1
    except (RateLimited, Overloaded):
        pass
    return count


class TestShares:
    def test_a_key_has_a_quarter_and_a_tenant_half(self) -> None:
        shares = Shares(100, "places")
        assert [held(shares, "a", name) for name in ("x", "y", "z")] == [25, 25, 0]
        with pytest.raises(RateLimited, match="tenant has its share of places"):
            shares.take("a", "z")
        with pytest.raises(RateLimited, match="key has its share of places"):
            shares.take("a", "x")

    @pytest.mark.parametrize("total", [2, 3, 8, 100, 1_000])
    def test_whoever_comes_next_finds_room(self, total: int) -> None:
        shares = Shares(total, "places")
        greedy = 0
        while shares.in_use < total - 1:
            held(shares, f"greedy {greedy}")
            greedy += 1
            assert shares.in_use < total, f"after {greedy} who want everything"
            if greedy > 3 * total:
                break
        assert held(shares, "next") >= 1

    def test_when_everything_is_in_use_it_is_the_server_that_is_full(self) -> None:
        shares = Shares(2, "places")
        shares.take("a", "x")
        shares.take("b", "x")
        with pytest.raises(Overloaded, match="no room for more places"):
            shares.take("c", "x")

    def test_what_is_given_back_is_free_and_nobody_is_kept_in_mind(self) -> None:
        shares = Shares(8, "places")
        for tenant in map(str, range(1_000)):
            with shares.held(tenant, "x"):
                assert shares.in_use == 1
        shares.take("a", "x", 2)
        shares.give("a", "x", 2)
        assert (shares.in_use, len(shares._keys), len(shares._tenants)) == (0, 0, 0)
        assert held(shares, "a") == 2

    def test_one_of_the_largest_always_fits(self) -> None:
        Shares(1, "bytes", least=10_000).take("a", "x", 10_000)

    def test_who_is_refused_holds_no_more(self) -> None:
        shares = Shares(8, "places")
        assert held(shares, "a") == 2
        assert held(shares, "a") == 0
        assert shares.in_use == 2


class TestBackoff:
    def test_each_failure_after_the_free_ones_takes_longer(self, ticks: Ticks) -> None:
        backoff = Backoff(3, ticks)
        assert [backoff.failed("a") for _ in range(3)] == [0.0] * 3
        waits = []
        for _ in range(9):
            waits.append(backoff.wait("a"))
            assert backoff.failed("a") == waits[-1] > 0, "one that is early tells how early"
            ticks.at += waits[-1]
            assert backoff.failed("a") == 0
        assert waits[:4] == [1, 2, 4, 8]
        assert waits[-1] == LONGEST_WAIT_S

    def test_early_ones_do_not_prolong_it(self, ticks: Ticks) -> None:
        backoff = Backoff(1, ticks)
        for _ in range(500):
            backoff.failed("a")
        assert backoff.wait("a") == 1

    def test_it_is_forgotten(self, ticks: Ticks) -> None:
        backoff = Backoff(1, ticks)
        backoff.failed("a")
        backoff.forget("a")
        assert backoff.wait("a") == 0
        for _ in range(9):
            backoff.failed("a")
            ticks.at += backoff.wait("a")
        ticks.at += FORGOTTEN_S
        backoff.failed("a")
        assert backoff.wait("a") == 1

    def test_others_do_not_wait_and_so_many_are_kept(
        self, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "NAMES", 100)
        backoff = Backoff(1, ticks)
        for n in range(1_000):
            backoff.failed(n)
            backoff.failed("busy")
        assert (backoff.wait("busy"), backoff.wait("other")) == (1, 0)
        assert len(backoff._failures) == 100

    def test_no_number_of_failures_is_too_many(self, ticks: Ticks) -> None:
        backoff = Backoff(1, ticks)
        for _ in range(3_000):
            backoff.failed("a")
            ticks.at += LONGEST_WAIT_S
        assert backoff.wait("a") == 0


class TestAddresses:
    @pytest.mark.parametrize(
        ("address", "holder"),
        [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8::1", "2001:db8::/64"),
            ("2001:db8::ffff:1", "2001:db8::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            (NOWHERE, NOWHERE),
            ("a socket", "a socket"),
        ],
    )
    def test_of_ipv6_a_network_is_one_caller(self, address: str, holder: str) -> None:
        assert holder_of(address) == holder

    @pytest.mark.parametrize(
        ("told", "caller"),
        [
            ("198.51.100.9", "198.51.100.9"),
            ("6.6.6.6, 198.51.100.9", "198.51.100.9"),
            ("6.6.6.6, 198.51.100.9, 10.1.2.3", "198.51.100.9"),
            ("198.51.100.9:4711", "198.51.100.9"),
            ("[2001:db8::9]:4711", "2001:db8::/64"),
            ("2001:db8::9", "2001:db8::/64"),
            ("6.6.6.6, unknown", "10.0.0.1"),
            ("6.6.6.6, ", "10.0.0.1"),
            ("", "10.0.0.1"),
            ("10.9.9.9", "10.0.0.1"),
            ("6" * 100_000, "10.0.0.1"),
        ],
    )
    def test_a_trusted_proxy_says_who_calls(self, told: str, caller: str) -> None:
        trusted = (ip_network("10.0.0.0/8"),)
        headers = {"x-forwarded-for": told}
        assert caller_address("10.0.0.1", headers, trusted) == caller
        assert caller_address("192.0.2.1", headers, trusted) == "192.0.2.1"
        assert caller_address("10.0.0.1", headers, ()) == "10.0.0.1"


class TestForwarded:
    @pytest.mark.parametrize(
        "name",
        [
            *("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded", "forwarded-for"),
            *("cf-connecting-ip", "cf-ray", "cf-visitor", "cf-worker", "cdn-loop", "fly-client-ip"),
            *("true-client-ip", "x-client-ip", "x-cluster-client-ip", "fastly-client-ip"),
            *("x-original-forwarded-for", "x-original-host", "x-original-url", "x-originating-ip"),
            *("x-remote-ip", "x-remote-addr", "remote-user", "x-proxyuser-ip", "x-real-port"),
            *("wl-proxy-client-ip", "proxy-connection", "x-envoy-external-address", "fly-region"),
            *("x-amz-cf-id", "x-amzn-trace-id", "cloudfront-viewer-address", "x-azure-clientip"),
            *("do-connecting-ip", "tailscale-user-login", "x-vercel-id", "x-nf-request-id"),
            *("x-appengine-user-ip", "x-arr-ssl", "ali-cdn-real-ip", "x-ssl-client-cert"),
            *("x_forwarded_for", "x-sucuri-clientip", "incap-client-ip", "akamai-origin-hop"),
            *("x-goog-iap-jwt-assertion", "x-client-tls-version", "x-host", "front-end-https"),
        ],
    )
    def test_what_a_proxy_says_is_heard(self, name: str) -> None:
        assert forwarded({"host": "localhost", name: "a"})

    def test_what_callers_say_themselves_is_not(self) -> None:
        names = (
            "host user-agent accept accept-encoding accept-language connection content-type "
            "content-length transfer-encoding authorization x-api-key idempotency-key if-match "
            "if-none-match x-request-id traceparent tracestate baggage cookie origin referer "
            "sec-fetch-site sec-fetch-mode sec-fetch-dest sec-fetch-user sec-ch-ua "
            "sec-ch-ua-platform sec-ch-ua-mobile dnt cache-control pragma priority expect te "
            "upgrade-insecure-requests x-memory-user-id x-memory-session-id x-memory-agent-id "
            "mcp-protocol-version mcp-session-id last-event-id x-stainless-lang x-stainless-os "
            "x-stainless-retry-count x-stainless-runtime openai-organization openai-project "
            "openai-beta anthropic-version x-goog-api-client x-requested-with mem0-user-id "
            "x-client-name x-client-version http-referer x-title keep-alive date"
        )
        assert not [name for name in names.split() if forwarded({name: "a"})]
