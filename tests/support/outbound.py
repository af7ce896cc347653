"""What a program sends beyond loopback, seen from outside it, so that native code is seen too.

In a network namespace every address is routed to loopback, where all packets are read. Where the
system allows no namespace, the sockets of the program's processes are looked at over and over.
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

LIMIT_S = 240.0
DNS = 53
_LOOK_S = 0.005
_LOOPBACK = 1  # its number in every network namespace
_TRANSPORTS = {socket.IPPROTO_TCP: "tcp", socket.IPPROTO_UDP: "udp"}


@dataclass(frozen=True, slots=True)
class Seen:
    """How the program ended, and where it turned to, as in `udp 192.0.2.1:53`."""

    code: int
    output: str
    reached: tuple[str, ...]


Watch = Callable[[Sequence[str], Mapping[str, str]], Seen]


def namespaces_allowed() -> bool:
    """Whether this user may have a network of their own."""
    try:
        return subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def watch_packets(command: Sequence[str], environment: Mapping[str, str]) -> Seen:
    """Run a program in a network that is loopback alone, and read every packet."""
    inside = [sys.executable, "-m", __name__, *command]
    done = subprocess.run(
        ["unshare", "-rn", *inside],
        env=dict(environment),
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout
    told = json.loads(done.stdout)
    return Seen(told["code"], told["output"], tuple(told["reached"]))


def watch_sockets(command: Sequence[str], environment: Mapping[str, str]) -> Seen:
    """Run a program, and look at the sockets of its processes until it ends."""
    reached: set[str] = set()
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    ended = threading.Event()
    looker = threading.Thread(target=_look, args=(process.pid, reached, ended))
    looker.start()
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        ended.set()
        looker.join()
    return Seen(process.returncode, output, tuple(sorted(reached)))


def watches() -> list[Watch]:
    """The ways of watching that this system has, the surest first."""
    return [watch_packets, watch_sockets] if namespaces_allowed() else [watch_sockets]


def _look(pid: int, reached: set[str], ended: threading.Event) -> None:
    while not ended.wait(_LOOK_S):
        try:
            first = psutil.Process(pid)
            for one in (first, *first.children(recursive=True)):
                reached.update(_outbound_of(one))
        except psutil.Error:
            continue


def _outbound_of(process: psutil.Process) -> set[str]:
    kinds = {socket.SOCK_STREAM: "tcp", socket.SOCK_DGRAM: "udp"}
    return {
        f"{kinds[one.type]} {one.raddr.ip}:{one.raddr.port}"
        for one in process.net_connections("inet")
        if one.raddr and _leaves(one.raddr.ip, one.raddr.port)
    }


def _leaves(address: str, port: int) -> bool:
    # A resolver on loopback passes the question on.
    return port == DNS or not ipaddress.ip_address(address).is_loopback


def _inside(command: Sequence[str]) -> None:
    _raise_loopback()
    for family in (socket.AF_INET, socket.AF_INET6):
        _route_all_to_loopback(family)
    reached: set[str] = set()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as packets:
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
        packets.settimeout(_LOOK_S)
        ended = threading.Event()
        reader = threading.Thread(target=_read, args=(packets, reached, ended))
        reader.start()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ended.set()
        reader.join()
        _, dropped = struct.unpack("II", packets.getsockopt(263, 6, 8))  # PACKET_STATISTICS
    assert not dropped, "more packets came than could be read"
    print(json.dumps({"code": done.returncode, "output": done.stdout, "reached": sorted(reached)}))


def _read(packets: socket.socket, reached: set[str], ended: threading.Event) -> None:
    while True:
        last = ended.is_set()
        try:
            packet = packets.recv(1 << 16)
        except TimeoutError:
            if last:
                return
            continue
        if (found := _destination(packet)) is not None and _leaves(found[1], found[2]):
            reached.add("{} {}:{}".format(*found))


def _destination(packet: bytes) -> tuple[str, str, int] | None:
    """Transport, address and port a packet goes to."""
    if packet[0] >> 4 == 4:
        kind, address, start = packet[9], packet[16:20], (packet[0] & 15) * 4
    else:
        kind, address, start = packet[6], packet[24:40], 40
    if kind not in _TRANSPORTS:
        return None
    [port] = struct.unpack_from("!H", packet, start + 2)
    return _TRANSPORTS[kind], str(ipaddress.ip_address(address)), port


def _raise_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = struct.pack("16sh22x", b"lo", 1 | 64)  # IFF_UP, IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS


def _route_all_to_loopback(family: int) -> None:
    """`ip route add local default dev lo`, where there may be no `ip`."""
    route = struct.pack("BBBBBBBBI", family, 0, 0, 0, 255, 3, 254, 2, 0)  # local table, scope, type
    out = struct.pack("HHI", 8, 4, _LOOPBACK)  # RTA_OIF
    size = 16 + len(route) + len(out)
    head = struct.pack("IHHII", size, 24, 0x405, 1, 0)  # RTM_NEWROUTE; request, create, ack
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(head + route + out)
        [error] = struct.unpack_from("i", kernel.recv(1 << 12), 16)
    absent = family == socket.AF_INET6 and not Path("/proc/net/if_inet6").exists()
    if error and not absent:
        raise OSError(-error, os.strerror(-error))


if __name__ == "__main__":
    _inside(sys.argv[1:])
