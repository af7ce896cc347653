"""Takes from an interpreter what Windows has not, and lends it Windows' locks.

To be run first in a process of its own: `before=AS_WINDOWS`, or `python -c AS_WINDOWS + …`. What is
not shown this way is in docs/platforms.md.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

AS_WINDOWS = "from support.as_windows import pretend; pretend()\n"

# These choose their own parts by the system, and would ask for more of Windows than there is here.
CHOOSY = (
    "asyncio",
    "multiprocessing.popen_spawn_posix",
    "numpy",
    "platformdirs.unix",
    "subprocess",
)
MODULES = ("fcntl", "grp", "pwd", "readline", "resource", "syslog", "termios", "tty", "uvloop")
_OF_OS = """
    O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC chown chroot fchdir fchmod fchown fork
    forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getsid
    getuid killpg lchown mkfifo mknod nice pathconf pidfd_open posix_fadvise posix_fallocate
    pread preadv pwrite pwritev register_at_fork sched_getaffinity sched_yield sendfile setgid
    setpgid setsid setuid statvfs sysconf ttyname uname wait3 wait4
"""
OF_OS = _OF_OS.split()
OF_SIGNAL = ["SIGALRM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "setitimer", "sigwait"]
OF_SOCKET = ["SO_REUSEPORT"]


def pretend() -> None:
    """Be as Windows from here on, for what is imported from here on."""
    import fcntl

    from remanence.model.telemetry import hush

    hush()
    for name in CHOOSY:
        import_module(name)
    sys.modules["msvcrt"] = fake_msvcrt(fcntl)
    sys.modules.update(dict.fromkeys(MODULES))  # type: ignore[arg-type]
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL), (socket, OF_SOCKET)):
        for name in names:
            vars(module).pop(name, None)
    vars(socket)["SO_EXCLUSIVEADDRUSE"] = socket.SO_REUSEADDR
    vars(os)["O_BINARY"] = 0
    _keep_names_of_open_files()
    from remanence.model.system import files

    vars(files).update(RIGHTS_ARE_MODES=False, OPEN_FILES_MOVE=False, SYNCS_FOLDERS=False)


def fake_msvcrt(fcntl: ModuleType) -> ModuleType:
    """`msvcrt.locking`: a lock is the handle's, at the place where it stands, and once only."""
    module, held = ModuleType("msvcrt"), set[tuple[int, int]]()
    vars(module).update(LK_UNLCK=0, LK_LOCK=1, LK_NBLCK=2, LK_RLCK=3, LK_NBRLCK=4)

    def locking(file: int, how: int, size: int) -> None:
        place = os.lseek(file, 0, os.SEEK_CUR)
        taking = how != vars(module)["LK_UNLCK"]
        if ((file, place) in held) is taking or place >= 1 << 31:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        kind = fcntl.F_WRLCK if taking else fcntl.F_UNLCK
        asked = struct.pack("hhqqi4x", kind, os.SEEK_SET, place, size, 0)
        try:
            fcntl.fcntl(file, getattr(fcntl, "F_OFD_SETLK", 37), asked)  # named from 3.13 on
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None
        held.add((file, place)) if taking else held.discard((file, place))

    close = os.close

    def closing(file: int) -> None:
        held.difference_update({one for one in held if one[0] == file})
        close(file)

    vars(os)["close"] = closing
    vars(module)["locking"] = locking
    return module


def _keep_names_of_open_files() -> None:
    def refusing(act: Callable[..., None], *places: int) -> Callable[..., None]:
        def checked(*args: Any, **named: Any) -> None:
            for place in places:
                if "dir_fd" not in named and _is_open(args[place]):
                    raise PermissionError(errno.EACCES, "it is open", os.fspath(args[place]))
            act(*args, **named)

        return checked

    vars(os)["unlink"] = vars(os)["remove"] = refusing(os.unlink, 0)
    vars(os)["replace"] = refusing(os.replace, 0, 1)
    vars(os)["rename"] = refusing(os.rename, 0, 1)


def _is_open(path: str) -> bool:
    """Whether this process has the file open, by whatever code."""
    try:
        wanted = os.stat(path)
    except OSError:
        return False
    for name in os.listdir("/proc/self/fd"):
        try:
            found = os.stat(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False
