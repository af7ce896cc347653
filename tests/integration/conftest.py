"""Where a layer of the memory is tested: on every store, and through a server."""

from __future__ import annotations

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What a module names in `SERVED` its tests have through a server too."""
    if "kept_in" in metafunc.fixturenames:
        wanted, served = set(metafunc.fixturenames), getattr(metafunc.module, "SERVED", set())
        also = ["server"] if wanted & served and "here" not in wanted else []
        metafunc.parametrize("kept_in", ["sqlite", "postgres", *also])


@pytest.fixture
def here() -> None:
    """Asked for by a test that looks inside a layer: it is of no use through a server."""
