"""Very many clients of one server, at once and one after another: over the fake driver."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remote_servers import FAKE, KERNELS, PROBE, built

pytestmark = [
    pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}"),
    pytest.mark.slow,
]

SCRIPT = Path(__file__).parents[2] / "lab" / "benchmarks" / "remote_clients.py"
TRANSPORTS = ["tls", "plain", "shared-memory"]


def run(what: str, folder: Path, *options: object, descriptors: int = 0) -> str:
    """What the script prints of a crowd or a soak, in which it is to find nothing wrong."""
    limited = ["prlimit", f"--nofile={descriptors}:"] if descriptors else []
    command = [sys.executable, SCRIPT, what, "--build", built(".."), "-o", folder, *options]
    finished = subprocess.run(
        [*limited, *map(str, command)],
        env={**os.environ, "GPUCAST_LIBCUDA": str(FAKE), "GPUCAST_FAKE_KERNELS": str(KERNELS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_crowd_is_served_or_refused_with_a_line(transport: str, tmp_path: Path) -> None:
    crowd = ("--clients", 150, "--max-clients", 40, "--transport", transport)
    run("crowd", tmp_path, *crowd)


def test_descriptors_bound_no_crowd_that_the_host_allows(tmp_path: Path) -> None:
    """As systems do, which grant programs few unless they ask for more."""
    crowd = ("--clients", 150, "--max-clients", 150, "--transport", "plain")
    run("crowd", tmp_path, *crowd, descriptors=100)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_of_clients_that_come_and_go_none_is_turned_away(transport: str, tmp_path: Path) -> None:
    soak = ("--clients", 600, "--seconds", 2, "--transport", transport)
    assert "600 of 600 clients" in run("soak", tmp_path, *soak)
