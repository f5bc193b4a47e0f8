"""A wall clock that jumps by years during measurements, which use another clock."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import gpucast as gc
from command_line import start_measuring
from described_programs import described
from waiting import HANG

COMPILER = shutil.which("cc")
SOURCE = Path(__file__).parents[1] / "support" / "jumping_clock.c"
YEAR = 365.25 * 86400

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
]


@pytest.fixture(scope="module")
def jumping(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of programs with a jumping wall clock."""
    library = tmp_path_factory.mktemp("clock") / "jumping_clock.so"
    assert COMPILER is not None
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    environment = {"LD_PRELOAD": str(library)}
    looks = f"import time; print(len({{round(time.time() / {YEAR}) for _ in range(7)}}))"
    told = subprocess.run(
        [sys.executable, "-c", looks], env={**os.environ, **environment}, capture_output=True,
        check=True,
    )  # fmt: skip
    assert int(told.stdout) == 7
    return environment


def measured(*arguments: object, **environment: str) -> dict[str, int]:
    process = start_measuring(*arguments, "--quiet", "--json", **environment)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    answer: dict[str, int] = json.loads(out)
    return answer


def test_a_campaign_is_whole_and_goes_on(jumping: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    grid = ("--paths", "host:2", "--n", "64,216", "--gpus", "1,2", "--schedules", "star-async",
            "--kernels", "tuned", "--no-transfers", "--max-time", "0.05s", "-o", path)  # fmt: skip
    assert measured(*grid, "--visits", 2, **jumping)["measured"] == 8
    steps = gc.load(path).steps
    assert set(Counter((step.n, step.gpus) for step in steps).values()) == {2}
    assert all(0 < seconds < YEAR for step in steps for seconds in step.seconds)
    again = measured(*grid, "--visits", 2, **jumping)
    assert (again["measured"], again["skipped"]) == (0, 8)


def test_visits_of_any_program_cost_what_they_took(jumping: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    told = measured("--program", described(tmp_path), "--visits", 2, "-o", path, **jumping)
    assert told["measured"] == 12
    visits = [step.visit for step in gc.load(path).steps]
    assert all(visit is not None and 0 < visit.seconds < YEAR for visit in visits)


def test_a_budget_lasts_as_long_as_it_says(jumping: dict[str, str], tmp_path: Path) -> None:
    """A deadline by the wall clock would be over at once, or years away."""
    path = tmp_path / "data.jsonl"
    told = measured("--paths", "host:2", "--n", "64", "--gpus", "1", "--no-transfers",
                    "--schedules", "star-async", "--kernels", "tuned", "--max-time", "0.02s",
                    "--budget", "3s", "--visits", 2, "-o", path, **jumping)  # fmt: skip
    assert told["measured"] == 2
