"""The one endpoint that chats are passed on to, and what of a request and an answer passes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING

from remanence.config import Settings
from remanence.errors import ConfigError, LanguageModelError

if TYPE_CHECKING:
    import httpx  # 5 MB, and most servers pass no chats on: loaded where there is an upstream

CHAT, MODELS = "/chat/completions", "/models"
CONNECT_S = 10.0
CONNECTIONS, IDLE = 512, 32
# Of an answer. Not its cookies, nor who may read it from a page: that is for this server to say.
PASSED = frozenset(
    {
        *("content-type", "content-encoding", "content-length", "cache-control"),
        *("retry-after", "retry-after-ms", "x-should-retry"),
    }
)
PASSED_FAMILIES = ("openai-", "x-ratelimit-")
_log = logging.getLogger(__name__)


class Upstream:
    """Sends requests to the endpoint of the settings, with its own key and no other.

    Nothing of a caller's headers goes there but what kind of answer they accept.
    """

    def __init__(self, settings: Settings) -> None:
        self._url = _checked_url(settings.upstream_url)
        self._key = _checked_key(settings.upstream_key)
        self._wait_s = settings.llm_timeout_s
        self._client: httpx.AsyncClient | None = None

    @property
    def named(self) -> bool:
        """Whether there is one."""
        return self._url is not None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Connections are kept while this lasts."""
        if self._url is None:
            yield
            return
        import httpx

        async with httpx.AsyncClient(
            timeout=self._timeout(),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=IDLE),
            follow_redirects=False,
            trust_env=not _is_local(self._url),
        ) as self._client:
            yield

    def request(
        self, method: str, path: str, accept: str, content: bytes | None = None
    ) -> httpx.Request:
        """A request to the endpoint."""
        import httpx

        assert self._url is not None
        headers = {"accept": accept, "accept-encoding": "identity", "user-agent": "remanence"}
        if content is not None:
            headers["content-type"] = "application/json"
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        url = self._url.copy_with(path=self._url.path + path)
        # As an extension, because a request that no client built has no limit of time.
        extensions = {"timeout": self._timeout().as_dict()}
        return httpx.Request(method, url, headers=headers, content=content, extensions=extensions)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The answer once its head is here; `LanguageModelError` if there is none."""
        import httpx

        if self._client is None:
            raise LanguageModelError("The server is starting or shutting down; try again.")
        try:
            response = await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            _log.warning("The upstream does not answer: %r", error)
            raise LanguageModelError(
                f"The upstream does not answer ({type(error).__name__}). Does it run, is the "
                "setting upstream_url right? llm_timeout_s says how long to wait for it."
            ) from error
        if response.is_redirect:
            await response.aclose()
            raise LanguageModelError(
                "The upstream sends us elsewhere; set upstream_url to where it really is."
            )
        return response

    def _timeout(self) -> httpx.Timeout:
        import httpx

        return httpx.Timeout(self._wait_s, connect=min(CONNECT_S, self._wait_s))


def passed(headers: httpx.Headers) -> list[tuple[str, str]]:
    """The headers of an answer that are passed on."""
    return [
        (name, value)
        for name, value in headers.multi_items()
        if name.lower() in PASSED or name.lower().startswith(PASSED_FAMILIES)
    ]


def _checked_url(given: str) -> httpx.URL | None:
    if not given.strip():
        return None
    import httpx

    try:
        url = httpx.URL(given.strip())
        good = url.scheme in ("http", "https") and bool(url.host)
    except httpx.InvalidURL:
        good = False
    if not good:
        raise ConfigError("upstream_url must be like http://127.0.0.1:11434/v1.")
    return url.copy_with(path=url.path.rstrip("/").removesuffix(CHAT), fragment=None)


def _checked_key(key: str) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError("upstream_key holds blanks or characters that no header can carry.")
    return key


def _is_local(url: httpx.URL) -> bool:
    """Whether it is this machine, which no proxy of the environment stands before."""
    try:
        return url.host == "localhost" or ip_address(url.host).is_loopback
    except ValueError:
        return False
