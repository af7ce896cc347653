"""Every setting, with its default and what it may be.

Plain dataclass on purpose: a settings library cost 0.14 s and 27 MB at start, more than the index.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import tzinfo
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

import platformdirs

from remanence.errors import ConfigError, InvalidInput
from remanence.model.block import block_label, block_limit
from remanence.model.sleep import ForgetPolicy, SleepPolicy
from remanence.model.system.files import RIGHTS_ARE_MODES
from remanence.model.zones import zone_of

SHORTEST_KEY = 16
_MOST_BYTES = 4096
_HOW = "make one with `openssl rand -base64 32`"
TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


def setting(
    default: Any,
    *,
    within: tuple[float, float] | None = None,
    among: tuple[str, ...] = (),
    secret: bool = False,
) -> Any:
    """What a setting is by default and what it may be; one that is `secret` is never printed."""
    may_be = {"within": within, "among": among}
    return field(default=default, repr=not secret, metadata=may_be)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting with its default; `docs/settings.md` is made from this table."""

    database: str = setting("", secret=True)
    tenant: str = "default"
    timezone: str = "UTC"
    embedder: str = "all-MiniLM-L6-v2-memory"
    embedder_url: str = setting("", secret=True)
    embedder_key: str = setting("", secret=True)
    pool_size: int = setting(4, within=(1, 1000))
    pool_overflow: int = setting(4, within=(0, 1000))
    server_timeout_s: float = setting(10.0, within=(0.1, 3600))
    statement_timeout_s: float = setting(30.0, within=(0.1, 86_400))
    tls: str = setting("prefer", among=TLS_MODES)
    migrate: str = setting("auto", among=("auto", "manual"))
    index: str = setting("auto", among=("auto", "bits", "pgvector", "qdrant", "chroma"))
    index_url: str = setting("", secret=True)
    index_key: str = setting("", secret=True)
    index_timeout_s: float = setting(2.0, within=(0.05, 600))
    index_replicas: int = setting(2, within=(1, 16))
    index_shards: int = setting(0, within=(0, 1024))
    cache_url: str = setting("", secret=True)
    cache_ttl_s: float = setting(60.0, within=(0.1, 86_400))
    session_ttl_s: float = setting(86_400.0, within=(1, 366 * 86_400))
    min_trust: float = setting(0.0, within=(0, 1))
    window_messages: int = setting(40, within=(2, 10_000))
    window_tokens: int = setting(3_000, within=(50, 10_000_000))
    core_blocks: str = "persona=2048 human=2048 system=1024"
    extract_entities: bool = True
    infer_relations: bool = True
    name_finder: str = setting("rules", among=("rules", "spacy"))
    single_predicates: str = ""
    llm_url: str = setting("", secret=True)
    llm_model: str = ""
    llm_key: str = setting("", secret=True)
    llm_timeout_s: float = setting(120.0, within=(0.1, 3600))
    device: str = setting("cpu", among=("cpu", "cuda", "auto"))
    threads: int = setting(0, within=(0, 1024))
    cache: str = ""
    index_path: str = ""
    max_memory_mb: float = setting(90.0, within=(8, 1_000_000))
    durability: str = setting("full", among=("full", "normal"))
    encryption_key: str = setting("", secret=True)
    encryption_key_file: str = ""
    busy_timeout_s: float = setting(10.0, within=(0, 3600))
    max_text: int = setting(1_000_000, within=(1, 10_000_000))
    max_memories: int = setting(0, within=(0, 10**15))
    max_bytes: int = setting(0, within=(0, 10**18))
    importance_weight: float = setting(0.2, within=(0, 100))
    recency_weight: float = setting(0.3, within=(0, 100))
    decay: float = setting(0.95, within=(0, 1))
    time_weight: float = setting(0.1, within=(0, 100))
    ranker: str = ""
    background: bool = False
    sleeps: bool = True
    idle_s: float = setting(60.0, within=(0, 86_400))
    sleep_cap: float = setting(0.02, within=(0, 1))
    merge_alike: float = setting(0.85, within=(0, 1))
    merge_days: float = setting(30.0, within=(0, 36_500))
    forget_floor: float = setting(0.1, within=(0, 1))
    forget_importance: float = setting(0.1, within=(0, 1))
    forget_after_days: float = setting(30.0, within=(0, 36_500))
    forget_uses: int = setting(2, within=(0, 1_000_000))
    forget_active_days: bool = False
    erase_after_days: float = setting(0.0, within=(0, 36_500))
    cool_after_days: float = setting(90.0, within=(0, 36_500))
    cold_after_days: float = setting(365.0, within=(0, 36_500))
    text_codec: str = setting("zstd", among=("zstd", "lz4", "snappy"))
    host: str = "127.0.0.1"
    port: int = setting(8005, within=(0, 65_535))
    workers: int = setting(1, within=(1, 256))
    calls: int = setting(2, within=(1, 256))
    call_timeout_s: float = setting(30.0, within=(0, 86_400))
    hosts: str = ""
    origins: str = ""
    max_body_mb: float = setting(10.0, within=(0.001, 10_000))
    max_import_mb: float = setting(1_000.0, within=(0.001, 1_000_000))
    rate_limit: int = setting(12_000, within=(0, 10_000_000))
    connections: int = setting(1_000, within=(4, 100_000))
    connections_per_address: int = setting(250, within=(1, 100_000))
    trusted_proxies: str = ""
    head_timeout_s: float = setting(10.0, within=(0.1, 3600))
    body_timeout_s: float = setting(30.0, within=(0.1, 3600))
    send_timeout_s: float = setting(60.0, within=(0.1, 3600))
    bodies_mb: float = setting(256.0, within=(1, 1_000_000))
    exports: int = setting(8, within=(1, 1_000))
    imports: int = setting(8, within=(1, 1_000))
    wrong_keys: int = setting(10, within=(1, 1_000_000))
    redact: str = ""
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_keys: str = ""
    jwt_tenant: str = "tenant"
    upstream_url: str = setting("", secret=True)
    upstream_key: str = setting("", secret=True)
    proxy_tokens: int = setting(1_000, within=(50, 1_000_000))
    proxy_min_confidence: float = setting(0.0, within=(0, 1))
    tools: str = setting("default", among=("default", "graph", "full"))
    log_format: str = setting("text", among=("text", "json"))
    otel_endpoint: str = ""

    def __post_init__(self) -> None:
        self.zone, self.block_limits  # noqa: B018 - what cannot be read is refused here
        for each in fields(self):
            _check(each, getattr(self, each.name))
        if self.encryption_key and self.encryption_key_file:
            raise ConfigError("Give encryption_key or encryption_key_file, not both.")
        if self.encryption_key:
            accepted_key(self.encryption_key)

    @property
    def database_url(self) -> str:
        """Where the memories live: as set, or a file in the user's data directory."""
        return self.database or str(Path(platformdirs.user_data_dir("remanence")) / "memory.db")

    @property
    def encrypted(self) -> bool:
        """Whether a key is set."""
        return bool(self.encryption_key or self.encryption_key_file)

    @property
    def store_key(self) -> str:
        """The key of the database's file, read where it is kept; empty: it is not encrypted."""
        return key_in(self.encryption_key_file) if self.encryption_key_file else self.encryption_key

    @property
    def block_limits(self) -> dict[str, int]:
        """The core blocks that everybody has, with their limits in characters."""
        entries = self.core_blocks.replace(",", " ").split()
        try:
            pairs = [entry.split("=") for entry in entries]
            return {block_label(label): block_limit(int(limit)) for label, limit in pairs}
        except ValueError as error:
            raise ConfigError(
                "core_blocks must be labels with limits, like `persona=2048 human=2048`; "
                f"got {self.core_blocks!r}."
            ) from error

    @property
    def zone(self) -> tzinfo:
        """The time zone of whoever has none of their own."""
        try:
            return zone_of(self.timezone)
        except InvalidInput as error:
            raise ConfigError(f"timezone: {error}") from error

    @property
    def proxy_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The addresses of the proxies that are believed when they name a caller."""
        named = self.trusted_proxies.replace(",", " ").split()
        try:
            return tuple(ip_network(each, strict=False) for each in named)
        except ValueError as error:
            raise ConfigError(
                "trusted_proxies must be addresses or networks, like `10.0.0.7, 192.0.2.0/24`; "
                f"got {self.trusted_proxies!r}."
            ) from error

    @property
    def one_at_a_time(self) -> frozenset[str]:
        """The predicates of its own that this memory holds one object of at a time."""
        named = (" ".join(name.split()).lower() for name in self.single_predicates.split(","))
        return frozenset(name for name in named if name)

    @property
    def sleep_policy(self) -> SleepPolicy:
        """What a night goes by."""
        return SleepPolicy(
            cap=self.sleep_cap,
            alike=self.merge_alike,
            days_apart=self.merge_days,
            forget=ForgetPolicy(
                daily=self.decay,
                floor=self.forget_floor,
                importance_below=self.forget_importance,
                older_than_days=self.forget_after_days,
                uses_below=self.forget_uses,
                active_days=self.forget_active_days,
                erase_after_days=self.erase_after_days or None,
            ),
            cool_after_days=self.cool_after_days,
            cold_after_days=self.cold_after_days,
        )

    @property
    def cache_folder(self) -> Path:
        """Where models built or fetched on this machine lie."""
        return Path(os.path.expanduser(self.cache) or platformdirs.user_cache_dir("remanence"))


HELP: Mapping[str, str] = {
    "database": "a path, `:memory:`, `sqlite:///path` or `postgresql://…`; empty: a file in the "
    "data directory",
    "tenant": "who is logged in; no verb reads across tenants, except those that care for the "
    "whole store",
    "timezone": "where days and words like `yesterday` are meant, if neither `now` nor the user "
    "says: a name such as `Europe/Lisbon`, or an offset such as `+05:45`",
    "embedder": "a model's name, a folder, a hub name, or the endpoint's model with embedder_url",
    "embedder_url": "an OpenAI-compatible endpoint, e.g. `http://127.0.0.1:11434/v1`",
    "embedder_key": "the endpoint's API key, if it wants one",
    "pool_size": "connections to PostgreSQL that stay open",
    "pool_overflow": "further connections while there is much to do",
    "server_timeout_s": "how long a call waits for PostgreSQL: for a connection, or to be back",
    "statement_timeout_s": "longest run of one statement on PostgreSQL",
    "tls": f"TLS to PostgreSQL: {', '.join(TLS_MODES)}",
    "migrate": "auto: opening a PostgreSQL store brings its schema up to date; manual: only "
    "`rem migrate` does",
    "index": "the vector index: bits, pgvector, qdrant or chroma; auto: pgvector on PostgreSQL, "
    "else bits",
    "index_url": "where Qdrant is (several nodes with commas), or Chroma: an address or a folder; "
    "empty: this machine, or a folder beside the database",
    "index_key": "Qdrant's API key, if it wants one",
    "index_timeout_s": "how long a search waits for Qdrant or Chroma before it does without",
    "index_replicas": "copies of every vector in a Qdrant cluster",
    "index_shards": "shards of the Qdrant collection; 0 lets Qdrant choose",
    "cache_url": "keep search results, and on a server copies of sessions: `local`, `redis://…`, "
    "`rediss://…` or `redis+cluster://…`; empty: no cache",
    "cache_ttl_s": "how long a search result is kept; any write to what it covers ends it at once",
    "session_ttl_s": "how long a session and its working memory live after their last use",
    "min_trust": "the least trust, 0 to 1, of what searches, prompts, facts and the graph show "
    "where a call does not say; through a server only an admin may ask for less",
    "window_messages": "the short-term window: so many of the newest messages at most",
    "window_tokens": "the short-term window: so many tokens at most",
    "core_blocks": "the core blocks that everybody has, with their limits in characters",
    "extract_entities": "find the people, places and things that memories speak of",
    "infer_relations": "find the facts that memories state, and how people and things are related",
    "name_finder": "how names are found: rules, or spacy for its small English model",
    "single_predicates": "predicates of your own that hold one object at a time, with commas; a "
    "new object then ends the old one: `reports to, lead of`",
    "llm_url": "an OpenAI-compatible chat endpoint, e.g. `http://127.0.0.1:11434/v1`; empty: no "
    "language model",
    "llm_model": "the model to ask there",
    "llm_key": "the endpoint's API key, if it wants one",
    "llm_timeout_s": "how long to wait for the language model",
    "device": "cpu, cuda or auto, for embedding; search always runs on the CPU",
    "threads": "threads for embedding; 0 lets the library choose",
    "cache": "folder for models built or fetched here; empty: the user's cache directory",
    "index_path": "file of the vector index; empty: beside the database",
    "max_memory_mb": "index, caches and buffers together; `stats` reports what is used",
    "durability": "full: nothing acknowledged is lost in a power cut; normal: the last may be",
    "encryption_key": "the key of an encrypted SQLite file, with apsw-sqlite3mc in the place of "
    f"apsw: {SHORTEST_KEY} characters or more, e.g. of `openssl rand -base64 32`; empty: not "
    "encrypted",
    "encryption_key_file": "a file whose first line is that key, and that only its owner may read",
    "busy_timeout_s": "how long a write waits for another process",
    "max_text": "longest text of one memory, in characters",
    "max_memories": "most memories of one tenant, archived ones too; 0: no limit",
    "max_bytes": "most bytes of one tenant: texts and metadata of memories with their histories, "
    "blocks, sessions and other documents; 0: no limit",
    "importance_weight": "how much importance adds to a score",
    "recency_weight": "how much recency adds to a score",
    "decay": "what is left of importance after a day",
    "time_weight": "how fast recency fades, per day",
    "ranker": "a JSON file of weights made by `rem bench train`; empty: the built-in ones",
    "background": "a `Memory` sleeps in a thread of its process, when it is idle and a schedule is "
    "due; off: `rem sleep`, `rem worker`, `rem serve` and `memory.sleep` do it",
    "sleeps": "`rem serve` runs the schedules of all tenants; off: only `rem worker` does",
    "idle_s": "so many seconds without a call mean that the memory is idle",
    "sleep_cap": "share of the memories that may leave recall in a day",
    "merge_alike": "cosine from which two memories may say the same",
    "merge_days": "how many days apart events may lie that are merged",
    "forget_floor": "strength below which a memory has faded",
    "forget_importance": "only memories less important than this are forgotten by rule",
    "forget_after_days": "only memories older than this are forgotten by rule",
    "forget_uses": "only memories used less often than this are forgotten by rule",
    "forget_active_days": "count only days on which the memory's owner wrote something",
    "erase_after_days": "erase what a rule archived, so many days later; 0: never",
    "cool_after_days": "texts are compressed and vectors kept in 4 bits after so many days unused",
    "cold_after_days": "vectors are kept in 1 bit after so many days unused",
    "text_codec": "how old texts are compressed: zstd, or lz4 or snappy with the `codecs` extra",
    "host": "the address that `rem serve` listens at; any but a loopback one needs keys",
    "port": "the port that `rem serve` listens at; 0 takes a free one",
    "workers": "processes that serve the same store",
    "calls": "calls that one process works on at the same time",
    "call_timeout_s": "how long a call may take before the server stops it, undoes it and answers "
    "503; long work is a job and has no such end; 0: no end",
    "hosts": "further names under which the server may be called, with commas; `*.name` for all "
    "below one; always: the loopback names and `host`",
    "origins": "web pages that may call the server from a browser, with commas: "
    "`https://app.example`; empty: none",
    "max_body_mb": "largest body of a request; imports stream past it",
    "max_import_mb": "largest body of an import; it lies in a temporary file until it is read",
    "rate_limit": "calls a minute for each key; 0: no limit",
    "connections": "connections that one process holds; over that, the idle ones are closed for "
    "new ones. Also the requests under way: half of them for one tenant, a quarter for one key",
    "connections_per_address": "connections of one address (IPv6: of one /64), except loopback and "
    "trusted_proxies",
    "trusted_proxies": "proxies in front of the server, as addresses or networks with commas; they "
    "may hold any number of connections, and `X-Forwarded-For` of theirs says who calls",
    "head_timeout_s": "how long the head of a request may take",
    "body_timeout_s": "in each such time at least 16 KB of a body must come in, or all the rest",
    "send_timeout_s": "in each such time a reader must take 16 KB of an answer, or all the rest",
    "bodies_mb": "bodies of requests that one process holds: half for one tenant, a quarter for "
    "one key",
    "exports": "exports that one process writes at a time: half for one tenant, a quarter for one "
    "key",
    "imports": "imports that one process takes at a time: half for one tenant, a quarter for one "
    "key",
    "wrong_keys": "wrong keys of one address before it has to wait, longer each time",
    "redact": "private data to take out of what a server's callers write: email, phone, card, "
    "iban, ip, ssn or all, with commas; empty: nothing",
    "jwt_issuer": "accept tokens of this issuer (OpenID Connect) besides keys; empty: none",
    "jwt_audience": "the audience that such tokens must name",
    "jwt_keys": "a file or address of the issuer's public keys (JWKS); empty: found by the issuer",
    "jwt_tenant": "the claim that names the tenant",
    "upstream_url": "an OpenAI-compatible endpoint that the proxy passes chats on to, e.g. "
    "`http://127.0.0.1:11434/v1`; empty: no proxy",
    "upstream_key": "the endpoint's API key; empty: the caller's own is not passed on either",
    "proxy_tokens": "so many tokens of memories at most in a proxied chat",
    "proxy_min_confidence": "no memories in a proxied chat unless it is so probable, 0 to 1, that "
    "they answer",
    "tools": "which tools MCP shows: default, graph (the reference memory server's nine) or full",
    "log_format": "how the server logs: text or json",
    "otel_endpoint": "where the server sends traces (OTLP over HTTP, with the `otel` extra), e.g. "
    "`http://127.0.0.1:4318`; empty: nowhere",
}


def _check(each: Field[Any], value: Any) -> None:
    low, high = each.metadata.get("within") or (value, value)
    if not low <= value <= high:
        raise ConfigError(f"{each.name} must lie between {low} and {high}; got {value!r}.")
    known = each.metadata.get("among")
    if known and value not in known:
        raise ConfigError(f"{each.name} must be one of {', '.join(known)}; got {value!r}.")


def accepted_key(key: str, where: str = "encryption_key") -> str:
    """The key, if it is long enough and one line."""
    if len(key) < SHORTEST_KEY or not key.isprintable():
        raise ConfigError(
            f"{where} must hold {SHORTEST_KEY} characters or more, on one line; {_HOW}."
        )
    return key


def key_in(file: str) -> str:
    """The first line of a file that only its owner may read."""
    path = os.path.expanduser(file)
    try:
        with open(path, "rb") as opened:
            if RIGHTS_ARE_MODES and os.fstat(opened.fileno()).st_mode & 0o077:
                raise ConfigError(f"Others may read the key file {path}: run `chmod 600 {path}`.")
            line = opened.readline(_MOST_BYTES).decode().strip()
    except FileNotFoundError:
        raise ConfigError(f"There is no key file at {path}; {_HOW} > {path}.") from None
    except OSError as error:
        raise ConfigError(f"The key file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The key file {path} is not text; {_HOW} > {path}.") from None
    return accepted_key(line, f"The key file {path}")
