"""Locks that processes have on files; they go when the process ends, however it ends."""

from __future__ import annotations

try:
    from remanence.model.system.posix_locks import try_lock, unlock, wait_alone
except ImportError:
    from remanence.model.system.windows_locks import try_lock, unlock, wait_alone

__all__ = ["try_lock", "unlock", "wait_alone"]
