"""Parts of a step that programs print, and forecasts of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from gpucast.data import dataset, jsonl
from gpucast.data.records import Phases, Record, Step
from gpucast.fitting.cells import parts_of
from gpucast.model.fitted import Model


def step(n: float, gpus: int, *, timed: bool = True) -> Record:
    """3 ns an element on GPUs, 0.2 ms of the host, exchange with two or more GPUs."""
    kernel, cpu = 3e-9 * n / gpus, 2e-4
    com = 1e-4 * (gpus > 1) + 1e-7 * (n / gpus) ** (2 / 3) * (gpus > 1)
    phases = {"kernel": [kernel], "cpu": [cpu], "exchange": [com]}
    return jsonl.record(
        {
            "kind": "step", "machine": "m", "path": "native", "n": n, "gpus": gpus,
            "seconds": [kernel + cpu + com], **({"phases": phases} if timed else {}),
        }
    )  # fmt: skip


def model(*, timed: bool) -> Model:
    cells = [(n, gpus) for n in (1e5, 4e5, 1e6, 4e6) for gpus in (1, 2, 4)]
    machine = jsonl.record({"kind": "machine", "id": "m"})
    steps = [step(*cell, timed=timed) for cell in cells]
    fit = gc.fit(dataset.from_records("made", [machine, *steps]))
    assert fit.scaling is not None
    return fit


def test_parts_are_copies_exchange_host_and_kernel_or_what_is_left() -> None:
    timed = step(1e6, 2)
    assert isinstance(timed, Step)
    phases = Phases(cpu=[2e-4], h2d=[1e-4], d2h=[3e-4], exchange=[1e-4])
    without = replace(timed, phases=phases, seconds=[1e-3])
    parts = parts_of([without])
    assert (parts.t_gpu, parts.t_cpu, parts.t_com) == (
        pytest.approx([3e-4]),
        pytest.approx([2e-4]),
        pytest.approx([5e-4]),
    )
    assert parts_of([replace(timed, phases=None)]) is None


@pytest.mark.parametrize(("n", "gpus"), [(1e6, 1), (1e6, 4), (2e6, 2), (4e6, 8)])
def test_parts_that_were_timed_are_forecast(n: float, gpus: int) -> None:
    timed = step(n, gpus)
    assert isinstance(timed, Step)
    phases = [timed.phases.kernel, timed.phases.cpu, timed.phases.exchange]
    truth = np.array([(phase or [0])[0] for phase in phases]) / timed.seconds[0]
    forecasts = model(timed=True).forecasts([n], [gpus])
    parts = np.array([forecasts.t_gpu[0], forecasts.t_cpu[0], forecasts.t_com[0]])
    assert parts.sum() == pytest.approx(forecasts.seconds[0], rel=1e-9)
    assert parts / forecasts.seconds[0] == pytest.approx(truth, abs=0.05)


def test_parts_are_shown_where_they_were_timed(tmp_path: Path) -> None:
    with_parts, without = model(timed=True), model(timed=False)
    assert "t_com" in with_parts.forecast(1e6, 2)
    assert "t_com" not in without.forecast(1e6, 2)
    with_parts.save(tmp_path / "m.json")
    again = gc.load_model(tmp_path / "m.json")
    assert again.timed_parts
    assert again.forecasts([2e6], [2]).t_com == pytest.approx(
        with_parts.forecasts([2e6], [2]).t_com
    )
