"""What a launch costs, from records whose answer is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gpucast as gc
from gpucast.cli.app import run
from gpucast.paths.launches import launch_costs


def launch(method: str, count: int, seconds: list[float], **more: Any) -> dict[str, Any]:
    return {
        "schema": "gpucast.record/1",
        "kind": "launch",
        "machine": "m",
        "path": "native",
        "method": method,
        "count": count,
        "seconds": seconds,
        **more,
    }


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "launches.jsonl"
    transfer = {
        "schema": "gpucast.record/1", "kind": "transfer", "machine": "m", "path": "native",
        "memory": "pinned", "engine": "copy", "route": "h2d", "from": "host", "to": "gpu0",
        "concurrent": [], "method": "call", "valid": True,
    }  # fmt: skip
    lines: list[dict[str, Any]] = [
        {"schema": "gpucast.record/1", "kind": "machine", "id": "m"},
        launch("submit", 1, [3e-6] * 7, arguments=0),
        launch("submit", 1, [9e-6] * 7, arguments=16),
        launch("sync", 1, [8e-6] * 3),
        launch("gated", 1, [2e-6] * 7),
        launch("gated", 256, [256 * 1.5e-6] * 7, run_to_run={"sd": 0.1, "runs": 6}),
        launch("graph", 16, [1.0] * 7, cold=True),
        *({**transfer, "bytes": 2**k, "seconds": [5e-6 + 2**k / 5e10] * 7} for k in range(4, 27)),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_each_method_has_its_cost(records: Path) -> None:
    costs = {each.method: each for each in launch_costs(gc.load(records))}
    assert set(costs) == {"submit", "sync", "gated"}  # a first call says nothing
    assert costs["submit"].t_kernel.value == 3e-6  # of a kernel without arguments
    assert costs["sync"].t_kernel.low is None  # three samples bound nothing
    assert costs["gated"].count == 256
    assert costs["gated"].t_kernel.value == pytest.approx(1.5e-6)
    # Student's factor for six runs, 2.571, times 10 %.
    assert costs["gated"].t_kernel.high == pytest.approx(1.5e-6 * 1.2571, rel=1e-3)


def test_fit_tells_them(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", str(records)]) == 0
    told = capsys.readouterr().out
    assert "t_kernel" in told
    assert "one of 256" in told
    assert run(["fit", str(records), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {each["method"] for each in answer["launches"]} == {"submit", "sync", "gated"}
