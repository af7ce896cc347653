"""Tokens of an OpenID Connect issuer: checked with its public keys, which are fetched and kept."""

from __future__ import annotations

import json
import math
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit

from remanence.api.verb import Grant
from remanence.config import Settings
from remanence.errors import ConfigError, Unauthenticated
from remanence.model.clock import Clock
from remanence.model.scope import MAX_NAME
from remanence.server.access.caller import Caller, is_reserved

if TYPE_CHECKING:
    from jwt import PyJWK

# A secret that both sides know could be a public key taken for one, so only pairs of keys count.
ALGORITHMS = ("RS256", "ES256", "EdDSA")
# Many issuers give no `nbf`; where there is one, it holds.
REQUIRED = ("exp", "iat", "iss", "aud", "sub")
LONGEST = 16_384  # characters of a token
AGAIN_S = 30.0  # for an unknown key the issuer is asked no more often than this
FRESH_S = 3_600.0  # a key that the issuer took back is believed no longer than this
WAIT_S = 5.0
LARGEST = 1 << 20
LEEWAY_S = 10  # clocks of two machines differ
LAST_S = 253_402_300_799  # the last second of the year 9999, after which there are no dates
_PREFIX = "memory:"
# The times are checked here, by the clock that was given.
_UNTIMED = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}


class Tokens:
    """Knows callers by tokens of the issuer in the settings. Never an operator. Thread-safe."""

    def __init__(
        self, settings: Settings, clock: Clock, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        if not settings.jwt_issuer or not settings.jwt_audience:
            raise ConfigError(
                "Tokens need both jwt_issuer and jwt_audience; set the other as well."
            )
        self._settings = settings
        self._clock = clock
        self._keys = IssuerKeys(settings.jwt_issuer, settings.jwt_keys, monotonic)

    def known(self) -> bool:
        """An issuer is set, so a token or a key is needed."""
        return True

    def remembered(self, shown: str | None) -> Caller | None:
        """None: a signature has to be checked every time."""
        return None

    def ended(self, shown: str) -> bool:
        """Never: what is wrong with a token, `caller` says itself."""
        return False

    def caller(self, shown: str) -> Caller | None:
        """Whose token this is; None if it is none. `Unauthenticated` says what is wrong with it."""
        if len(shown) > LONGEST or shown.count(".") != 2 or not shown.isascii():
            return None
        import jwt

        try:
            key = self._key_of(jwt.get_unverified_header(shown))
            claims = jwt.decode(
                shown,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._settings.jwt_issuer,
                audience=self._settings.jwt_audience,
                options=cast(Any, {"require": list(REQUIRED), **_UNTIMED}),
            )
            self._check_time(claims)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise Unauthenticated(f"The token is not accepted: {_why(error)}.") from error
        return self._caller(claims)

    def _key_of(self, header: Mapping[str, Any]) -> PyJWK:
        named = header.get("alg")
        if named not in ALGORITHMS:
            raise ValueError("its algorithm is not one of " + ", ".join(ALGORITHMS))
        key = self._keys.find(header.get("kid"))
        if key is None or key.algorithm_name != named:
            raise ValueError("its key is not one of the issuer's")
        return key

    def _check_time(self, claims: Mapping[str, Any]) -> None:
        now = self._clock.now().timestamp()
        if now >= _time_in(claims, "exp") + LEEWAY_S:
            raise ValueError("it has expired")
        begins = [_time_in(claims, name) for name in ("iat", "nbf") if name in claims]
        if now + LEEWAY_S < max(begins):
            raise ValueError("it is not valid yet")

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        tenant = _name_in(claims, self._settings.jwt_tenant)
        subject = _name_in(claims, "sub")
        if is_reserved(tenant):
            raise Unauthenticated("No token opens that tenant.")
        grants = grants_of(claims.get("scope", claims.get("scp")))
        if not grants:
            raise Unauthenticated("The token allows nothing here; it needs a scope memory:read.")
        return Caller(
            tenant=tenant,
            name=f"token:{subject}",
            grants=grants,
            trust=_trust_of(claims.get("trust", 1)),
            expires_at=datetime.fromtimestamp(min(claims["exp"], LAST_S), UTC),
        )


class IssuerKeys:
    """An issuer's public keys by their ids: from a file, an address, or where the issuer says."""

    def __init__(
        self, issuer: str, place: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._place = place
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._keys: Mapping[str | None, PyJWK] = {}
        self._asked: float | None = None
        self._had: float | None = None

    def find(self, id: object) -> PyJWK | None:
        """The key with this id, or the only one there is where a token names none."""
        found = self._pick(id)  # not behind the lock: while one asks the issuer, others go on
        if found is not None:
            return found
        with self._lock:
            now = self._monotonic()
            if self._asked is None or now - self._asked >= AGAIN_S:
                self._asked = now
                self._keys = _keys_in(self._read())
                self._had = now
            return self._pick(id)

    def _pick(self, id: object) -> PyJWK | None:
        if self._had is None or self._monotonic() - self._had >= FRESH_S:
            return None
        if id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(id) if isinstance(id, str) else None

    def _read(self) -> Any:
        place = self._place
        if place and urlsplit(place).scheme not in ("http", "https"):
            try:
                return json.loads(Path(place).expanduser().read_bytes()[:LARGEST])
            except OSError as error:
                raise ValueError("the issuer's keys cannot be read here") from error
        return _fetched(place or self._found())

    def _found(self) -> str:
        told = _fetched(self._issuer.rstrip("/") + "/.well-known/openid-configuration")
        if not isinstance(told, dict) or told.get("issuer") != self._issuer:
            raise ValueError("the issuer goes by another name")
        return str(told.get("jwks_uri"))


def grants_of(scope: object) -> frozenset[Grant]:
    """What a scope allows: words like `memory:read` or `read`; others are somebody else's."""
    words = scope.split() if isinstance(scope, str) else scope if isinstance(scope, list) else []
    named = {str(word).removeprefix(_PREFIX) for word in words}
    return frozenset(grant for grant in Grant if grant.value in named)


def _keys_in(told: Any) -> dict[str | None, PyJWK]:
    from jwt import PyJWK, PyJWKError

    listed = told.get("keys") if isinstance(told, dict) else None
    if not isinstance(listed, list):
        raise ValueError("the issuer's keys are not a JWKS")
    found: dict[str | None, PyJWK] = {}
    for one in listed:
        if not isinstance(one, dict) or one.get("use", "sig") != "sig":
            continue
        try:
            key = PyJWK.from_dict(one)
        except (PyJWKError, ValueError, TypeError):
            continue  # a kind of key that is not used here
        if key.algorithm_name in ALGORITHMS:
            found[key.key_id] = key
    return found


def _fetched(address: str) -> Any:
    if urlsplit(address).scheme not in ("http", "https"):
        raise ValueError("the issuer's keys have no address of the web")
    request = urllib.request.Request(address, headers={"Accept": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:  # noqa: S310
            return json.loads(answer.read(LARGEST))
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise ValueError("the issuer does not answer") from error


def _trust_of(value: object) -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if not fits:
        raise Unauthenticated("The token's 'trust' is not a number from 0 to 1.")
    return float(cast(float, value))


def _name_in(claims: Mapping[str, Any], claim: str) -> str:
    value = claims.get(claim)
    if isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable():
        return value
    raise Unauthenticated(f"The token names nobody in {claim!r}.")


def _time_in(claims: Mapping[str, Any], claim: str) -> float:
    value = claims[claim]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{claim} is not a time")
    return value


def _why(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".")[:120]
