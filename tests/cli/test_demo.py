"""The main job runs from measurements to plots, showing every command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpucast as gc
from gpucast.demo.h200 import KINDS
from gpucast.demo.published import PATHS

pytestmark = pytest.mark.slow


def test_the_demo_runs_shows_its_commands_and_writes_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "demo"
    finished = subprocess.run(
        [sys.executable, "-m", "gpucast.demo", "-o", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(gc.__file__).parents[1])},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "\x1b" not in finished.stdout + finished.stderr
    commands = re.findall(r"^\$ gpucast (\S+)", finished.stdout, re.MULTILINE)
    assert set(commands) == {
        "fit",
        "what-if",
        "validate",
        "report",
        "predict",
        "compare",
        "measure",
    }
    assert commands.count("fit") == 3 + len(KINDS) + len(PATHS)
    progress = r"host \[\d+/\d+\] n=\d+ gpus=\d+ "
    assert all(
        re.match(rf"gpucast: warning: |{progress}", line) for line in finished.stderr.splitlines()
    )

    written = {path.name for path in folder.iterdir()}
    assert {f"{path}.json" for path in PATHS} <= written
    images = {name for name in written if name.endswith(".png")}
    said = re.findall(r"^wrote (\S+)", finished.stdout, re.MULTILINE)
    assert {Path(name).name for name in said} == images | {"report.html"}
    assert {"step-time.png", "gflops.png", "shares.png", "transfer-dscuda.png"} <= images
    for path in folder.iterdir():
        if path.suffix == ".jsonl":
            assert {step.path for step in gc.load(path).steps} == {"host"}
        elif path.suffix == ".json":
            assert gc.load_model(path).content["parameters"]
        elif path.suffix == ".html":
            assert "remote (what if)" in path.read_text(encoding="utf-8")
        else:
            assert path.read_bytes().startswith(b"\x89PNG")

    # Native or remote: measured, best counts, break-even, and how far off the forecast was.
    assert "native-remote.png" in images
    for kind in KINDS:
        part = finished.stdout.partition(f"\n{kind.schedule}, {kind.kernel}, measured, and ")[2]
        rows = re.findall(r"^ *(\d+) +([1-4]) .* [+-]\d+\.\d %$", part, re.MULTILINE)
        assert {("1000", "1"), ("110592", "4")} <= set(rows)
        assert part.index("Best GPU counts") < part.index("From which n on")
        assert re.search(r"^The forecast is \d+ % too (low|high) in the median", part, re.MULTILINE)

    # The answer of source document 2, and the range of the forecast.
    assert "tesla-c2050: peer is faster than staged at every size" in finished.stdout
    assert re.search(r"geforce-gtx580: peer is faster than staged from \S+ bytes", finished.stdout)
    assert re.search(r"^\S+ +1000000 ", finished.stdout, re.MULTILINE)
    assert "* outside the n or GPU counts that were fitted" in finished.stdout

    # The live part: this machine's steps, and sizes that the fit has not seen.
    fitted, unseen = (gc.load(folder / name) for name in ("live.jsonl", "live-unseen.jsonl"))
    assert fitted.transfers
    assert {step.n for step in unseen.steps}.isdisjoint(step.n for step in fitted.steps)
    assert all(step.seconds for step in fitted.steps)
    assert "live-step-time.png" in images
    assert re.search(r"^8000 +1 .*s .* %", finished.stdout, re.MULTILINE)


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    finished = subprocess.run(
        [sys.executable, "-m", "gpucast.demo", "-o", str(tmp_path / "file" / "demo")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(gc.__file__).parents[1])},
        check=False,
    )
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert len(finished.stderr.splitlines()) == 1
    assert finished.stderr.startswith("gpucast: error: ")
