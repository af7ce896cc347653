"""One open memory, seen by many tenants."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress

from remanence.api.memory import Memory
from remanence.errors import Closed, Forbidden
from remanence.server.access.caller import is_reserved

HELD = 1_024  # tenants whose view stays at hand


class Tenants:
    """Gives each tenant its view of one store. Thread-safe."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._own = memory.tenant
        self._lock = threading.Lock()
        self._views: OrderedDict[str, Memory] = OrderedDict()

    def of(self, tenant: str) -> Memory:
        """The memory behind this tenant's wall."""
        if tenant == self._own:
            return self.memory
        if is_reserved(tenant):
            raise Forbidden(f"The tenant {tenant!r} is Remanence's own.")
        with self._lock:
            view = self._views.get(tenant)
            if view is not None:
                self._views.move_to_end(tenant)
                return view
        return self._opened(tenant)

    def write_uses(self) -> None:
        """Write what was noted of uses for each tenant; searches themselves never write."""
        with self._lock:
            views = list(self._views.values())
        with suppress(Closed):
            for each in (self.memory, *views):
                each.write_uses()

    def close(self) -> None:
        """Close every view, and the memory itself."""
        with self._lock:
            views = list(self._views.values())
            self._views.clear()
        for view in views:
            view.close()
        self.memory.close()

    def _opened(self, tenant: str) -> Memory:
        made = self.memory.for_tenant(tenant)
        with self._lock:
            view = self._views.setdefault(tenant, made)
            # One that is let go is not closed: a call may still be at work in it.
            late = [self._views.popitem(last=False)[1] for _ in range(len(self._views) - HELD)]
        for each in late:
            each.write_uses()
        return view
