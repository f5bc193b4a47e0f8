"""ReFrame runs the checks in docs/examples/reframe, on CPU threads as devices."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from waiting import HANG

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "docs" / "examples" / "reframe"
REFRAME = ROOT / ".venv-examples" / "bin" / "reframe"
PROGRAMS = Path(sys.executable).parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not REFRAME.exists(), reason=f"no {REFRAME} (make examples)"),
    pytest.mark.skipif(
        not (PROGRAMS / "gpucast-mdapp").exists(), reason=f"no gpucast-mdapp in {PROGRAMS}"
    ),
]


def reframe(folder: Path, *options: str) -> list[dict[str, Any]]:
    """Its report's test cases, after a run in a folder."""
    report = folder / "report.json"
    finished = subprocess.run(
        [REFRAME, "-C", CHECKS / "settings.py", "-c", CHECKS / "gpucast_checks.py",
         "--prefix", folder, "--report-file", report, "--nocolor", *options, "-r"],
        capture_output=True, text=True, timeout=HANG, cwd=folder,
        env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "HOME": str(folder)},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    (run,) = json.loads(report.read_text())["runs"]
    cases: list[dict[str, Any]] = run["testcases"]
    return cases


def performance(case: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Value and unit of each figure."""
    return {
        name.rpartition(":")[2]: (values[0], values[4])
        for name, values in case["perfvalues"].items()
    }


def kept(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The records that a check left in ReFrame's output folder."""
    lines = (Path(case["outputdir"]) / "records.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_steps_are_timed_and_their_records_kept(tmp_path: Path) -> None:
    cases = reframe(tmp_path, "-n", "StepTime%n=1000")
    cells = set()
    for case in cases:
        assert case["result"] == "pass"
        (step,) = [record for record in kept(case) if record["kind"] == "step"]
        cells.add((step["n"], step["gpus"], step["path"]))
        seconds = median(step["seconds"])
        assert performance(case)["step"] == (pytest.approx(seconds), "s")
        assert performance(case)["rate"] == (pytest.approx(1e6 / seconds), "pairs/s")
    assert cells == {(1000, 1, "host"), (1000, 2, "host")}


def test_copies_are_timed(tmp_path: Path) -> None:
    (case,) = reframe(tmp_path, "-n", "HostToDevice", "-S", "largest=65536")
    figures = performance(case)
    by_bytes = {
        record["bytes"]: median(record["seconds"])
        for record in kept(case)
        if (record["kind"], record.get("from"), record.get("method"))
        == ("transfer", "host", "call")
    }
    assert figures["latency"] == (pytest.approx(by_bytes[min(by_bytes)]), "s")
    assert figures["bandwidth"] == (pytest.approx(65536 / by_bytes[65536]), "B/s")
