"""Loopback: free ports, who has them, and whether a server answers over HTTP."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException

import psutil

PORTS = range(20_000, 32_000)  # below what kernels hand to outgoing connections (from 32768)


def listens(pid: int, port: int) -> bool:
    """Whether it is this process, not another one, that has the port."""
    try:
        connections = psutil.Process(pid).net_connections("tcp4")
    except psutil.NoSuchProcess:
        return False
    return any(c.laddr.port == port and c.status == psutil.CONN_LISTEN for c in connections)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody has at this moment."""
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = random.choice(PORTS)
            taken = held.enter_context(socket.socket())
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found


def http_ok(port: int, path: str) -> bool:
    """Whether GET answers 200 within a second."""
    return http_get(port, path) is not None


def http_get(port: int, path: str) -> bytes | None:
    """The body of a 200, or None."""
    connection = HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read() if answer.status == 200 else None
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
