"""The lists of what remote GPUs do are those that follow from the client's sources."""

import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest

from remote_servers import CLIENT, built

ROOT = Path(__file__).parents[2]
AGAIN = "run python scripts/generate_remote_layer.py"


@pytest.fixture
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "generate_remote_layer.py"))


def test_forecasts_know_the_calls_that_the_client_does(script: dict[str, Any]) -> None:
    assert script["MODULE"].read_text() == script["module"](), AGAIN
    assert len(script["supported"]()) > 130


def test_the_page_says_what_the_client_does(script: dict[str, Any]) -> None:
    lists = built("generated", "client")
    if not lists.exists():
        pytest.skip(f"no {lists}")
    assert script["PAGE"].read_text() == script["page"](lists), AGAIN


@pytest.mark.parametrize("version", [12, 13])
def test_what_is_said_to_be_done_is_in_the_library(version: int, script: dict[str, Any]) -> None:
    library = CLIENT / f"libcudart.so.{version}"
    if not library.exists():
        pytest.skip(f"no {library}")
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    # Those that nothing else defines are weak.
    strong = {line.split()[2].split("@")[0] for line in listing.splitlines() if " T " in line}
    defined = {script["plain"](name) for name in strong if name.startswith("cuda")}
    assert defined - set(script["refused"]()) == script["supported"]()
