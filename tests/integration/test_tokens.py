"""Tokens of an issuer: real keys, a real server of them on loopback, and every way to cheat."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from remanence.api.verb import Grant
from remanence.config import Settings, load_settings
from remanence.errors import ConfigError, Unauthenticated
from remanence.model.clock import FixedClock
from remanence.server.access.caller import Caller
from remanence.server.access.gate import Gate
from remanence.server.access.tokens import AGAIN_S, FRESH_S, LEEWAY_S, Tokens, grants_of
from remanence.testing.serving import Served, serving
from support import http

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT = int(NOW.timestamp())
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SIGNERS: dict[str, tuple[Any, str]] = {
    "rsa": (RSA, "RS256"),
    "ec": (EC, "ES256"),
    "ed": (ED, "EdDSA"),
}
PUBLIC: dict[str, dict[str, Any]] = {
    "rsa": RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True),
    "ec": ECAlgorithm.to_jwk(EC.public_key(), as_dict=True),
    "ed": OKPAlgorithm.to_jwk(ED.public_key(), as_dict=True),
}


@dataclass
class Issuer:
    """A server of public keys; what it gives out may change, and its requests are counted."""

    url: str = ""
    kids: list[str] = field(default_factory=lambda: ["rsa", "ec", "ed"])
    asked: list[str] = field(default_factory=list)
    broken: str = ""
    name: str = ""

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        if self.broken:
            return (500, b"") if self.broken == "500" else (200, self.broken.encode())
        if path == "/.well-known/openid-configuration":
            told: dict[str, Any] = {"issuer": self.name or self.url}
            told["jwks_uri"] = f"{self.url}/jwks"
        else:
            told = {"keys": [PUBLIC[kid] | {"kid": kid, "use": "sig"} for kid in self.kids]}
        return 200, json.dumps(told).encode()


@dataclass
class Ticks:
    """A monotonic clock that is moved by hand."""

    at: float = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    told = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = told.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield told
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def tokens(issuer: Issuer, ticks: Ticks) -> Tokens:
    return Tokens(settings_of(issuer.url), FixedClock(NOW), monotonic=ticks)


def settings_of(issuer: str, **more: str) -> Settings:
    return load_settings({"jwt_issuer": issuer, "jwt_audience": "memory", **more})


def claims_of(issuer: Issuer, **changed: Any) -> dict[str, Any]:
    claims = {
        "iss": issuer.url,
        "aud": "memory",
        "sub": "ana",
        "iat": AT - 10,
        "nbf": AT - 10,
        "exp": AT + 600,
        "tenant": "acme",
        "scope": "openid memory:read memory:write",
    } | changed
    return {name: value for name, value in claims.items() if value is not None}


def token(issuer: Issuer, kid: str | None = "rsa", **changed: Any) -> str:
    key, algorithm = SIGNERS[kid or "rsa"]
    headers = {"kid": kid} if kid else None
    return jwt.encode(claims_of(issuer, **changed), key, algorithm, headers=headers)


def raw(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None = None) -> str:
    signed = b".".join(_segment(json.dumps(part).encode()) for part in (header, claims))
    made = hmac.new(secret, signed, hashlib.sha256).digest() if secret else b""
    return (signed + b"." + _segment(made)).decode()


def refused(tokens: Tokens, shown: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        tokens.caller(shown)
    return str(caught.value)


@pytest.mark.parametrize("kid", SIGNERS)
def test_a_good_token_is_its_subjects(tokens: Tokens, issuer: Issuer, kid: str) -> None:
    assert tokens.caller(token(issuer, kid, trust=0.4)) == Caller(
        tenant="acme",
        name="token:ana",
        grants=frozenset({Grant.READ, Grant.WRITE}),
        trust=0.4,
        expires_at=NOW + timedelta(seconds=600),
    )
    assert tokens.known()


def test_nobody_is_an_operator_by_a_token(tokens: Tokens, issuer: Issuer) -> None:
    caller = tokens.caller(token(issuer, scope="admin", operator=True, quarantine=False))
    assert caller is not None
    assert caller.grants == {Grant.ADMIN}
    assert not caller.operator


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"aud": "other"}, "Audience"),
        ({"aud": None}, "aud"),
        ({"iss": "https://elsewhere.example"}, "issuer"),
        ({"iss": None}, "iss"),
        ({"exp": AT - LEEWAY_S}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": float("inf")}, "exp"),
        ({"exp": True}, "exp"),
        ({"exp": "soon"}, "exp"),
        ({"exp": 10**400}, "not accepted"),
        ({"nbf": AT + LEEWAY_S + 1}, "not valid yet"),
        ({"iat": AT + LEEWAY_S + 1}, "not valid yet"),
        ({"iat": None}, "iat"),
        ({"sub": None}, "sub"),
        ({"tenant": None}, "tenant"),
        ({"tenant": ""}, "tenant"),
        ({"tenant": ["acme"]}, "tenant"),
        ({"tenant": "a\nb"}, "tenant"),
        ({"tenant": "x" * 300}, "tenant"),
        ({"tenant": "remanence:keys"}, "No token opens"),
        ({"scope": None}, "scope"),
        ({"scope": "openid profile"}, "scope"),
        ({"scope": {"read": 1}}, "scope"),
        ({"trust": 1.5}, "trust"),
        ({"trust": "high"}, "trust"),
        ({"trust": True}, "trust"),
    ],
)
def test_claims_that_are_not_accepted(
    tokens: Tokens, issuer: Issuer, changed: dict[str, Any], said: str
) -> None:
    claims = claims_of(issuer, **changed)
    segments = raw({"alg": "ES256", "kid": "ec"}, claims).encode().rpartition(b".")[0]
    signature = ECAlgorithm(ECAlgorithm.SHA256).sign(segments, EC)
    assert said in refused(tokens, (segments + b"." + _segment(signature)).decode())


def test_a_token_without_nbf_and_with_several_audiences(tokens: Tokens, issuer: Issuer) -> None:
    assert tokens.caller(token(issuer, nbf=None, aud=["web", "memory"])) is not None


def test_a_token_that_nobody_signed(tokens: Tokens, issuer: Issuer) -> None:
    for name in ("none", "None", "NONE", ""):
        assert "algorithm" in refused(tokens, raw({"alg": name, "kid": "rsa"}, claims_of(issuer)))
    assert "not accepted" in refused(tokens, raw({"kid": "rsa"}, claims_of(issuer)))


def test_the_public_key_is_no_shared_secret(tokens: Tokens, issuer: Issuer) -> None:
    public = RSA.public_key()
    forms = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(PUBLIC["rsa"]).encode(),
    ]
    for form in forms:
        for alg in ("HS256", "hs256"):
            shown = raw({"alg": alg, "kid": "rsa"}, claims_of(issuer), form)
            assert "algorithm" in refused(tokens, shown)
        said = refused(tokens, raw({"alg": "RS256", "kid": "rsa"}, claims_of(issuer), form))
        assert "not accepted" in said


def test_one_keys_algorithm_is_not_anothers(tokens: Tokens, issuer: Issuer) -> None:
    crossed = jwt.encode(claims_of(issuer), EC, "ES256", headers={"kid": "rsa"})
    assert "key" in refused(tokens, crossed)
    for other in ("RS512", "PS256", "ES384"):
        shown = raw({"alg": other, "kid": "rsa"}, claims_of(issuer))
        assert "algorithm" in refused(tokens, shown)


def test_a_stranger_with_a_known_kid_and_a_changed_token(tokens: Tokens, issuer: Issuer) -> None:
    forged = jwt.encode(claims_of(issuer), STRANGER, "RS256", headers={"kid": "rsa"})
    assert "not accepted" in refused(tokens, forged)
    head, _, signature = token(issuer).split(".")
    other = _segment(json.dumps(claims_of(issuer, tenant="victim")).encode()).decode()
    assert "not accepted" in refused(tokens, f"{head}.{other}.{signature}")


def test_keys_that_the_token_brings_along_are_not_used(tokens: Tokens, issuer: Issuer) -> None:
    own = RSAAlgorithm.to_jwk(STRANGER.public_key(), as_dict=True)
    headers = {"kid": "own", "jwk": own, "jku": f"{issuer.url}/other"}
    shown = jwt.encode(claims_of(issuer), STRANGER, "RS256", headers=headers)
    assert "key" in refused(tokens, shown)
    assert "/other" not in issuer.asked


def test_what_is_no_token_is_nobodys(tokens: Tokens, issuer: Issuer) -> None:
    for shown in ("", "x", "a.b", "a.b.c.d", "rem_abcdefgh_" + "0" * 40, "é.é.é", "x" * 10_000_000):
        assert tokens.caller(shown) is None
    assert tokens.remembered("a.b.c") is None
    for shown in ("..", "a.b.c", "e30.e30.", f"{_segment(b'[' * 9_000).decode()}.e30.e30"):
        assert "not accepted" in refused(tokens, shown)
    assert issuer.asked == []


def test_keys_are_asked_for_once(tokens: Tokens, issuer: Issuer) -> None:
    for kid in ("rsa", "ec", "ed", "rsa"):
        assert tokens.caller(token(issuer, kid)) is not None
    assert issuer.asked == ["/.well-known/openid-configuration", "/jwks"]


def test_a_new_key_is_found_and_guessing_asks_seldom(
    tokens: Tokens, issuer: Issuer, ticks: Ticks
) -> None:
    issuer.kids = ["rsa"]
    assert tokens.caller(token(issuer)) is not None
    issuer.kids = ["rsa", "ec"]
    for _ in range(20):
        assert "key" in refused(tokens, token(issuer, "ec"))
    assert len(issuer.asked) == 2
    ticks.at += AGAIN_S
    assert tokens.caller(token(issuer, "ec")) is not None
    assert len(issuer.asked) == 4


def test_a_key_that_was_taken_back_ends(tokens: Tokens, issuer: Issuer, ticks: Ticks) -> None:
    assert tokens.caller(token(issuer)) is not None
    issuer.kids = ["ec"]
    ticks.at += FRESH_S
    assert "key" in refused(tokens, token(issuer))


def test_a_token_without_kid_needs_a_single_key(
    tokens: Tokens, issuer: Issuer, ticks: Ticks
) -> None:
    assert "key" in refused(tokens, token(issuer, None))
    issuer.kids = ["rsa"]
    ticks.at += AGAIN_S
    assert tokens.caller(token(issuer, None)) is not None


@pytest.mark.parametrize("broken", ["500", "no json", "[]", '{"keys": 7}', '{"keys": [7, {}]}'])
def test_an_issuer_that_is_ill_lets_nobody_in(
    tokens: Tokens, issuer: Issuer, ticks: Ticks, broken: str
) -> None:
    good = token(issuer)
    issuer.broken = broken
    assert "not accepted" in refused(tokens, good)
    asked = len(issuer.asked)
    assert "not accepted" in refused(tokens, good)
    assert len(issuer.asked) == asked
    issuer.broken = ""
    ticks.at += AGAIN_S
    assert tokens.caller(good) is not None


def test_an_issuer_that_is_dead_lets_nobody_in(issuer: Issuer) -> None:
    dead = Tokens(settings_of("http://127.0.0.1:1"), FixedClock(NOW))
    assert "does not answer" in refused(dead, token(issuer, iss="http://127.0.0.1:1"))


def test_keys_at_hand_outlive_the_issuer(tokens: Tokens, issuer: Issuer, ticks: Ticks) -> None:
    assert tokens.caller(token(issuer)) is not None
    issuer.broken = "500"
    ticks.at += AGAIN_S
    assert "not answer" in refused(tokens, raw({"alg": "RS256", "kid": "x"}, claims_of(issuer)))
    assert tokens.caller(token(issuer)) is not None


def test_an_issuer_of_another_name_is_not_believed(tokens: Tokens, issuer: Issuer) -> None:
    issuer.name = "https://elsewhere.example"
    assert "another name" in refused(tokens, token(issuer))


@pytest.mark.parametrize("how", ["file", "address"])
def test_keys_from_a_file_or_an_address(issuer: Issuer, tmp_path: Path, how: str) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(issuer.answer("/jwks")[1])
    place = str(file) if how == "file" else f"{issuer.url}/jwks"
    issuer.asked.clear()
    found = Tokens(settings_of(issuer.url, jwt_keys=place), FixedClock(NOW))
    assert found.caller(token(issuer)) is not None
    assert issuer.asked == ([] if how == "file" else ["/jwks"])
    for wrong in (str(tmp_path / "nothing"), "file:///etc/hostname"):
        lost = Tokens(settings_of(issuer.url, jwt_keys=wrong), FixedClock(NOW))
        assert "cannot be read" in refused(lost, token(issuer))


def test_a_shared_secret_among_the_keys_is_passed_over(issuer: Issuer, tmp_path: Path) -> None:
    secret = {"kty": "oct", "kid": "rsa", "k": _segment(b"s" * 32).decode(), "alg": "HS256"}
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [secret]}))
    found = Tokens(settings_of(issuer.url, jwt_keys=str(file)), FixedClock(NOW))
    shown = raw({"alg": "HS256", "kid": "rsa"}, claims_of(issuer), b"s" * 32)
    assert "algorithm" in refused(found, shown)
    assert "key" in refused(found, token(issuer))


def test_another_claim_may_name_the_tenant(issuer: Issuer) -> None:
    found = Tokens(settings_of(issuer.url, jwt_tenant="org"), FixedClock(NOW))
    caller = found.caller(token(issuer, org="umbrella"))
    assert caller is not None
    assert caller.tenant == "umbrella"


def test_the_gate_takes_tokens(tokens: Tokens, issuer: Issuer) -> None:
    gate = Gate("default", tokens)
    assert not gate.open()
    assert gate.admit({"authorization": f"Bearer {token(issuer)}"}).name == "token:ana"
    for headers in ({}, {"authorization": "Bearer x"}):
        with pytest.raises(Unauthenticated):
            gate.admit(headers)


def test_an_audience_is_needed() -> None:
    with pytest.raises(ConfigError, match="jwt_audience"):
        Tokens(load_settings({"jwt_issuer": "https://issuer.example"}), FixedClock(NOW))


@pytest.mark.parametrize(
    ("scope", "grants"),
    [
        ("read write", {"read", "write"}),
        ("memory:admin", {"admin"}),
        (["memory:read", 7], {"read"}),
        ("memory:reader admins READ", set()),
        (None, set()),
    ],
)
def test_scopes(scope: object, grants: set[str]) -> None:
    assert grants_of(scope) == grants


def _segment(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class TestKeysMadeWithTokens:
    """A key that is made or replaced over HTTP never outlives its maker's right."""

    @pytest.fixture
    def server(self, issuer: Issuer) -> Iterator[Served]:
        with serving(jwt_issuer=issuer.url, jwt_audience="memory") as served:
            yield served

    @staticmethod
    def asked(
        server: Served, issuer: Issuer, path: str, left_s: int | None, **body: Any
    ) -> httpx.Response:
        """A call to the keys of an admin whose token is good for so long."""
        now = int(datetime.now(UTC).timestamp())
        times = {"iat": now - 600, "nbf": now - 600, "exp": now + (left_s or 0)}
        shown = token(issuer, scope="memory:admin", tenant="default", **times)
        headers = {"authorization": f"Bearer {shown}"}
        url = f"{server.url}/v1/admin/keys{path}"
        return http.post(url, json=body, headers=headers, timeout=30)

    @staticmethod
    def lives_s(answer: httpx.Response) -> float:
        assert answer.status_code == 200, answer.text
        ends = datetime.fromisoformat(answer.json()["about"]["expires_at"])
        return (ends - datetime.now(UTC)).total_seconds()

    @pytest.mark.parametrize(
        "more",
        [
            {},
            {"expires_at": None},
            {"expires_at": "2999-01-01T00:00:00Z"},
            {"grants": ["read", "write", "erase", "admin"]},
        ],
    )
    def test_a_new_one(self, more: dict[str, Any], server: Served, issuer: Issuer) -> None:
        wanted = {"name": "new", "grants": ["admin"], **more}
        assert self.lives_s(self.asked(server, issuer, "", 65, **wanted)) <= 65

    def test_one_that_ends_before(self, server: Served, issuer: Issuer) -> None:
        soon = (datetime.now(UTC) + timedelta(seconds=30)).isoformat()
        wanted = {"name": "new", "grants": ["read"], "expires_at": soon}
        assert self.lives_s(self.asked(server, issuer, "", 65, **wanted)) <= 30

    @pytest.mark.parametrize("more", [{}, {"expires_at": "2999-01-01T00:00:00Z"}])
    def test_one_in_the_place_of_another(
        self, more: dict[str, Any], server: Served, issuer: Issuer
    ) -> None:
        lasting = server.key("admin").split("_")[1]
        again = self.asked(server, issuer, f"/{lasting}/rotate", 65, **more)
        assert self.lives_s(again) <= 65

    def test_the_day_it_ends_stays_unless_another_is_given(
        self, server: Served, issuer: Issuer
    ) -> None:
        ends = datetime.now(UTC) + timedelta(days=30)
        prefix = server.key("read", expires_at=ends).split("_")[1]
        week = 7 * 86_400
        kept = self.asked(server, issuer, f"/{prefix}/rotate", 100 * 86_400)
        assert datetime.fromisoformat(kept.json()["about"]["expires_at"]) == ends
        prefix = kept.json()["about"]["prefix"]
        later = datetime.now(UTC) + timedelta(days=60)
        wanted = later.isoformat()
        moved = self.asked(server, issuer, f"/{prefix}/rotate", 100 * 86_400, expires_at=wanted)
        assert datetime.fromisoformat(moved.json()["about"]["expires_at"]) == later
        prefix = moved.json()["about"]["prefix"]
        assert self.lives_s(self.asked(server, issuer, f"/{prefix}/rotate", week)) <= week

    def test_a_right_that_has_just_ended_makes_none(self, server: Served, issuer: Issuer) -> None:
        """Clocks differ a little, so such a token is still let in."""
        answer = self.asked(server, issuer, "", -1, name="new", grants=["read"])
        assert answer.status_code in (401, 422)
