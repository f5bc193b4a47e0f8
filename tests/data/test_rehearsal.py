"""Times of fake GPUs are marked wherever they are used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run
from gpucast.data import jsonl
from gpucast.data.dataset import rehearsed as warning_of
from gpucast.data.records import Machine
from made_data import TRANSFER_SIZES, dataset, machine, steps, transfer

SAID = "measured on a rehearsed GPU (fake GPU 0), which computes nothing: times are not real"


@pytest.fixture
def rehearsed(tmp_path: Path) -> Path:
    """A file of records as written by a campaign over ``remote serve --fake``."""
    path = tmp_path / "rehearsed.jsonl"
    made = steps(lambda n, gpus: 1e-8 * n / gpus + 1e-4, np.random.default_rng(1))
    records = [machine(name="m") | {"gpus": [{"name": "fake GPU 0"}]}, *made]
    dataset(records).dump(path)
    return path


@pytest.mark.parametrize(
    "gpus", [[{"name": "NVIDIA H200"}], [{"name": "GPU"}], [{"name": "a fake GPU 0"}], [], None]
)
def test_others_are_not(gpus: list[dict[str, str]] | None) -> None:
    record = jsonl.record(machine() | {"gpus": gpus})
    assert isinstance(record, Machine)
    assert warning_of(record) is None


def test_every_command_says_so_first(run: Run, rehearsed: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    status, _, errors = run("fit", rehearsed, "-o", model)
    assert status == 0, errors
    assert errors.splitlines()[0].startswith(f"gpucast: warning: {SAID}")
    assert errors.count(SAID) == 1
    name = gc.load_model(model).name
    report = tmp_path / "report.html"
    for words in (
        ("predict", model, "-n", "1000", "--gpus", "1,2"),
        ("validate", model, rehearsed),
        ("report", model, "-o", report),
    ):
        status, _, errors = run(*words)
        assert status == 0, errors
        assert errors.splitlines()[0].startswith(f"gpucast: warning: {name}: {SAID}"), words
        assert errors.count(SAID) == 1
    assert f"M{SAID[1:]}." in report.read_text()


def test_fitted_transfers_say_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "copies.jsonl"
    made = [transfer("h2d", size, [1e-5 + size / 1e10] * 3) for size in TRANSFER_SIZES]
    records = [machine() | {"gpus": [{"name": "fake GPU 1"}]}, *made]
    dataset(records).dump(path)
    status, _, errors = run("fit", path)
    assert status == 0, errors
    assert SAID.replace("GPU 0", "GPU 1") in errors
