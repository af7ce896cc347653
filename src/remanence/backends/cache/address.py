"""Where a cache server is: the URL of a setting, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from remanence.errors import ConfigError

PORT = 6379
TLS = {"redis": False, "rediss": True, "valkey": False, "valkeys": True}
FORMS = (
    "redis://[user:password@]host[:port][/number], rediss://… for TLS (with ?ca_file=/path or "
    "?verify=no if need be), unix:///path/to/socket, or redis+cluster://host:port,host:port"
)
OPTIONS = {"db", "ca_file", "verify"}
VERIFY = {"": True, "yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheAddress:
    """One server by host or socket, or some nodes of a cluster, and how to log in there."""

    nodes: tuple[tuple[str, int], ...] = ()
    socket: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    number: int = 0
    tls: bool = False
    ca_file: str | None = None
    verify: bool = True
    cluster: bool = False

    def __str__(self) -> str:
        """The address alone, fit for messages: no user, no password."""
        return self.socket or ",".join(f"{host}:{port}" for host, port in self.nodes)


def read_address(url: str, *, cluster: bool = False) -> CacheAddress:
    """The address that a URL gives; `ConfigError` says what a right one looks like.

    `valkey` and `valkeys` are other names for `redis` and `rediss`. Messages never hold the URL,
    because it may hold a password.
    """
    try:
        parts = urlsplit(url.strip())
        scheme, plus, manner = parts.scheme.partition("+")
        if plus and manner != "cluster":
            raise _Wrong(f"its scheme ends in {manner[:20]!r}")
        if scheme == "unix":
            return _socket(parts, cluster or bool(plus))
        return _network(parts, scheme, cluster or bool(plus))
    except _Wrong as wrong:
        raise ConfigError(f"The cache URL cannot be used: {wrong}. Write {FORMS}.") from None
    except ValueError:  # its text holds what stands in the URL, a password for instance
        raise ConfigError(f"The cache URL cannot be read. Write {FORMS}.") from None


class _Wrong(Exception):
    """What is wrong with a URL, without a word of it that could be secret."""


def _socket(parts: SplitResult, cluster: bool) -> CacheAddress:
    user, password, host = _login(parts.netloc)
    if cluster:
        raise _Wrong("a cluster is not reached over a socket file")
    if host or not parts.path.strip("/"):
        raise _Wrong("after unix:// comes the full path of the socket file")
    number = _number(_options(parts, tls=False).get("db", ""))
    return CacheAddress(socket=unquote(parts.path), user=user, password=password, number=number)


def _network(parts: SplitResult, scheme: str, cluster: bool) -> CacheAddress:
    if scheme not in TLS:
        raise _Wrong(f"it begins with {scheme[:20] + '://' if scheme else 'no scheme'!r}")
    user, password, hosts = _login(parts.netloc)
    nodes = tuple(_node(host) for host in hosts.split(","))
    options = _options(parts, tls=TLS[scheme])
    number = _number(options.get("db", parts.path.strip("/")))
    if len(nodes) > 1 and not cluster:
        raise _Wrong("several hosts are a cluster, and it does not say so")
    if cluster and number:
        raise _Wrong("a cluster has only database 0")
    return CacheAddress(
        nodes=nodes,
        user=user,
        password=password,
        number=number,
        tls=TLS[scheme],
        ca_file=options.get("ca_file"),
        verify=VERIFY[options.get("verify", "").lower()],
        cluster=cluster,
    )


def _login(netloc: str) -> tuple[str | None, str | None, str]:
    login, _, hosts = netloc.rpartition("@")
    user, _, password = login.partition(":")
    return unquote(user) or None, unquote(password) or None, hosts


def _node(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _Wrong(
            "a host or its port cannot be read; characters such as / # ? @ : in a password are "
            "written as %2F and so on"
        ) from None
    if not host:
        raise _Wrong("it names no host")
    return host, PORT if port is None else port


def _options(parts: SplitResult, *, tls: bool) -> dict[str, str]:
    given = parse_qs(parts.query, keep_blank_values=True)
    known = OPTIONS if tls else {"db"}
    if parts.fragment or set(given) - known or any(len(values) > 1 for values in given.values()):
        raise _Wrong(f"its options may be {', '.join(sorted(known))}, each once")
    options = {name: value for name, [value] in given.items()}
    if options.get("verify", "").lower() not in VERIFY:
        raise _Wrong("verify is yes or no")
    if "ca_file" in options and not Path(options["ca_file"]).is_file():
        raise _Wrong(f"there is no file of certificates at {options['ca_file']!r}")
    return options


def _number(text: str) -> int:
    if text and not (text.isascii() and text.isdigit()):
        raise _Wrong("the database is a number")
    return int(text or 0)
