"""What a launch costs, from records whose answer is known."""

import json
from pathlib import Path

import pytest

import gpucast as gc
from gpucast.cli.app import run
from gpucast.paths.launches import launch_costs
from made_data import dataset, launch, machine, transfer


@pytest.fixture
def records(tmp_path: Path) -> Path:
    lines = [
        machine(),
        launch(1, [3e-6] * 7, arguments=0),
        launch(1, [9e-6] * 7, arguments=16),
        launch(1, [8e-6] * 3, method="sync"),
        launch(1, [2e-6] * 7, method="gated"),
        launch(256, [256 * 1.5e-6] * 7, method="gated", run_to_run={"sd": 0.1, "runs": 6}),
        launch(16, [1.0] * 7, method="graph", cold=True),
        *(transfer("h2d", 2**k, [5e-6 + 2**k / 5e10] * 7, method="call") for k in range(4, 27)),
    ]
    dataset(lines).dump(tmp_path / "launches.jsonl")
    return tmp_path / "launches.jsonl"


def test_each_method_has_its_cost(records: Path) -> None:
    costs = {launch.method: launch for launch in launch_costs(gc.load(records))}
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
    assert {launch["method"] for launch in answer["launches"]} == {"submit", "sync", "gated"}
