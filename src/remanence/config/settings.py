"""Every setting, with its default and what it may be.

Plain dataclass on purpose: a settings library cost 0.14 s and 27 MB at start, more than the index.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

import platformdirs

from remanence.config.keys import SHORTEST_KEY, accepted_key, key_in
from remanence.errors import ConfigError, InvalidInput
from remanence.model.block import block_label, block_limit
from remanence.model.sleep import ForgetPolicy, SleepPolicy
from remanence.zones import zone_of

TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting with its default; `docs/settings.md` is made from this table."""

    database: str = field(default="", repr=False)
    tenant: str = "default"
    timezone: str = "UTC"
    embedder: str = "all-MiniLM-L6-v2"
    embedder_url: str = field(default="", repr=False)
    embedder_key: str = field(default="", repr=False)
    pool_size: int = 4
    pool_overflow: int = 4
    server_timeout_s: float = 10.0
    statement_timeout_s: float = 30.0
    tls: str = "prefer"
    migrate: str = "auto"
    index: str = "auto"
    index_url: str = field(default="", repr=False)
    index_key: str = field(default="", repr=False)
    index_timeout_s: float = 2.0
    index_replicas: int = 2
    index_shards: int = 0
    cache_url: str = field(default="", repr=False)
    cache_ttl_s: float = 60.0
    session_ttl_s: float = 86_400.0
    min_trust: float = 0.0
    window_messages: int = 40
    window_tokens: int = 3_000
    core_blocks: str = "persona=2048 human=2048 system=1024"
    extract_entities: bool = True
    infer_relations: bool = True
    name_finder: str = "rules"
    single_predicates: str = ""
    llm_url: str = field(default="", repr=False)
    llm_model: str = ""
    llm_key: str = field(default="", repr=False)
    llm_timeout_s: float = 120.0
    device: str = "cpu"
    threads: int = 0
    cache: str = ""
    index_path: str = ""
    max_memory_mb: float = 90.0
    durability: str = "full"
    encryption_key: str = field(default="", repr=False)
    encryption_key_file: str = ""
    busy_timeout_s: float = 10.0
    max_text: int = 1_000_000
    max_memories: int = 0
    max_bytes: int = 0
    importance_weight: float = 0.2
    recency_weight: float = 0.3
    decay: float = 0.95
    time_weight: float = 0.1
    ranker: str = ""
    background: bool = False
    idle_s: float = 60.0
    sleep_cap: float = 0.02
    merge_alike: float = 0.85
    merge_days: float = 30.0
    forget_floor: float = 0.1
    forget_importance: float = 0.1
    forget_after_days: float = 30.0
    forget_uses: int = 2
    forget_active_days: bool = False
    erase_after_days: float = 0.0
    cool_after_days: float = 90.0
    cold_after_days: float = 365.0
    text_codec: str = "zstd"
    host: str = "127.0.0.1"
    port: int = 8005
    workers: int = 1
    calls: int = 2
    call_timeout_s: float = 30.0
    hosts: str = ""
    origins: str = ""
    max_body_mb: float = 10.0
    max_import_mb: float = 1_000.0
    rate_limit: int = 12_000
    connections: int = 1_000
    connections_per_address: int = 250
    trusted_proxies: str = ""
    head_timeout_s: float = 10.0
    body_timeout_s: float = 30.0
    send_timeout_s: float = 60.0
    bodies_mb: float = 256.0
    exports: int = 8
    imports: int = 8
    wrong_keys: int = 10
    redact: str = ""
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_keys: str = ""
    jwt_tenant: str = "tenant"
    upstream_url: str = field(default="", repr=False)
    upstream_key: str = field(default="", repr=False)
    proxy_tokens: int = 1_000
    tools: str = "default"
    log_format: str = "text"
    otel_endpoint: str = ""

    def __post_init__(self) -> None:
        self.zone  # noqa: B018 - a zone that nobody knows is refused here
        _choice("device", self.device, ("cpu", "cuda", "auto"))
        _choice("tls", self.tls, TLS_MODES)
        _choice("migrate", self.migrate, ("auto", "manual"))
        _choice("index", self.index, ("auto", "bits", "pgvector", "qdrant", "chroma"))
        _between("pool_size", self.pool_size, 1, 1000)
        _between("pool_overflow", self.pool_overflow, 0, 1000)
        _between("server_timeout_s", self.server_timeout_s, 0.1, 3600)
        _between("statement_timeout_s", self.statement_timeout_s, 0.1, 86_400)
        _between("index_timeout_s", self.index_timeout_s, 0.05, 600)
        _between("index_replicas", self.index_replicas, 1, 16)
        _between("index_shards", self.index_shards, 0, 1024)
        _between("cache_ttl_s", self.cache_ttl_s, 0.1, 86_400)
        _between("session_ttl_s", self.session_ttl_s, 1, 366 * 86_400)
        _between("min_trust", self.min_trust, 0, 1)
        _between("window_messages", self.window_messages, 2, 10_000)
        _between("window_tokens", self.window_tokens, 50, 10_000_000)
        _between("llm_timeout_s", self.llm_timeout_s, 0.1, 3600)
        self.block_limits  # noqa: B018 - a setting that cannot be read is refused here
        _choice("name_finder", self.name_finder, ("rules", "spacy"))
        _choice("durability", self.durability, ("full", "normal"))
        if self.encryption_key and self.encryption_key_file:
            raise ConfigError("Give encryption_key or encryption_key_file, not both.")
        if self.encryption_key:
            accepted_key(self.encryption_key)
        _between("max_memory_mb", self.max_memory_mb, 8, 1_000_000)
        _between("busy_timeout_s", self.busy_timeout_s, 0, 3600)
        _between("threads", self.threads, 0, 1024)
        _between("max_text", self.max_text, 1, 10_000_000)
        _between("max_memories", self.max_memories, 0, 10**15)
        _between("max_bytes", self.max_bytes, 0, 10**18)
        _between("decay", self.decay, 0, 1)
        for name in ("importance_weight", "recency_weight", "time_weight"):
            _between(name, getattr(self, name), 0, 100)
        _choice("text_codec", self.text_codec, ("zstd", "lz4", "snappy"))
        for name in ("sleep_cap", "merge_alike", "forget_floor", "forget_importance"):
            _between(name, getattr(self, name), 0, 1)
        for name in ("merge_days", "forget_after_days", "erase_after_days"):
            _between(name, getattr(self, name), 0, 36_500)
        for name in ("cool_after_days", "cold_after_days"):
            _between(name, getattr(self, name), 0, 36_500)
        _between("forget_uses", self.forget_uses, 0, 1_000_000)
        _between("idle_s", self.idle_s, 0, 86_400)
        _between("port", self.port, 0, 65_535)
        _between("workers", self.workers, 1, 256)
        _between("calls", self.calls, 1, 256)
        _between("call_timeout_s", self.call_timeout_s, 0, 86_400)
        _between("max_body_mb", self.max_body_mb, 0.001, 10_000)
        _between("max_import_mb", self.max_import_mb, 0.001, 1_000_000)
        _between("rate_limit", self.rate_limit, 0, 10_000_000)
        _between("connections", self.connections, 4, 100_000)
        _between("connections_per_address", self.connections_per_address, 1, 100_000)
        for name in ("head_timeout_s", "body_timeout_s", "send_timeout_s"):
            _between(name, getattr(self, name), 0.1, 3600)
        _between("bodies_mb", self.bodies_mb, 1, 1_000_000)
        _between("exports", self.exports, 1, 1_000)
        _between("imports", self.imports, 1, 1_000)
        _between("wrong_keys", self.wrong_keys, 1, 1_000_000)
        _between("proxy_tokens", self.proxy_tokens, 50, 1_000_000)
        _choice("tools", self.tools, ("default", "graph", "full"))
        _choice("log_format", self.log_format, ("text", "json"))

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
    "background": "sleep in a thread of this process, when it is idle and a schedule is due; off: "
    "`rem sleep`, `rem worker` and `memory.sleep` do it",
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
    "tools": "which tools MCP shows: default, graph (the reference memory server's nine) or full",
    "log_format": "how the server logs: text or json",
    "otel_endpoint": "where the server sends traces (OTLP over HTTP, with the `otel` extra), e.g. "
    "`http://127.0.0.1:4318`; empty: nowhere",
}


def _choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known)}; got {value!r}.")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} must lie between {low} and {high}; got {value!r}.")
