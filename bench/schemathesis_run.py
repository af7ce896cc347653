"""Hold the server to its OpenAPI document: every operation, every check, all that can be sent."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from secrets import randbelow

from remanence.testing.serving import serving

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Start a server, run schemathesis against it and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    given, more = parser.parse_known_args(arguments)
    seed = randbelow(2**32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    with serving() as server:
        key = server.key("admin", operator=True, name="fuzzing")
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            *("run", f"{server.url}/openapi.json", "--header", f"Authorization: Bearer {key}"),
            *("--max-examples", str(given.max_examples), "--seed", str(seed)),
            # One worker: Python 3.11 may not parse source in two threads that are both deep down.
            *("--workers", "1", "--request-timeout", "30", "--no-color"),
            *("--continue-on-failure", "--suppress-health-check", "all", *more),
        ]
        return subprocess.run(command, cwd=ROOT, env=os.environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
