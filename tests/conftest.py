"""Fixtures every suite shares: the model that `make model` built, real files and real servers."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, settings

from remanence import Memory
from remanence.backends.embedding.models import DEFAULT_MODEL, find_model
from remanence.backends.embedding.onnx import OnnxEmbedder
from remanence.config import load_settings
from remanence.model.telemetry import hush
from remanence.testing.patience import HANG_S
from support.reaching import Reached, from_afar
from support.soak import times

hush()
# What writes no bytecode compiles all of it again, in every process that a test starts.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell has what it runs in the background ignore an interrupt, and all that this starts as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.update(MEM0_TELEMETRY="False", FASTMCP_CHECK_FOR_UPDATES="off")

pytest_plugins = ["support.services.fixtures"]

# A call that names no limit gives up after five seconds otherwise: a busy machine is no hang.
for _part in DEFAULT_TIMEOUT_CONFIG.as_dict():
    setattr(DEFAULT_TIMEOUT_CONFIG, _part, HANG_S)
settings.register_profile(
    "machine",
    max_examples=times(1_000, 40),
    stateful_step_count=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The folder of the bundled embedding model; missing, it fails the run."""
    return find_model(DEFAULT_MODEL, load_settings().cache_folder)


@pytest.fixture(scope="session", autouse=True)
def loaded_model(model_folder: Path) -> Iterator[None]:
    """Keep the model open: memories of one process share it, so the run loads it once."""
    embedder = OnnxEmbedder(model_folder)
    embedder.embed_query("ready")
    yield
    embedder.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty memory in a file of its own."""
    with Memory(tmp_path / "memory.db") as opened:
        yield opened


@pytest.fixture(scope="session", params=["here", "afar"])
def reached(request: pytest.FixtureRequest) -> Reached:
    """The way to an open memory: itself, or a client of a server that has it.

    Whoever asks for this fixture is run both ways, so the client passes the tests of the memory.
    """
    return nullcontext if request.param == "here" else from_afar
