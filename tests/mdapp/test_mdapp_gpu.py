"""Tests that need a GPU. lab/gpu.sh does more: all GPUs, sanitizers, rates."""

from pathlib import Path

import numpy as np
import pytest

import mdapp


@pytest.fixture(autouse=True)
def _gpu() -> None:
    mdapp.need_gpu()


def test_forces_bytes_and_trajectories_hold_their_limits() -> None:
    finished = mdapp.run("check", "--engine", "cuda", "--failed")
    assert finished.status == 0, finished.out
    assert finished.out.splitlines()[-1].startswith("native, ")


def test_steps_are_measured_on_the_gpu(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    finished = mdapp.run(
        "measure", "--engine", "cuda", "--n", "216,1000", "--kernel", "claret,tuned",
        "--schedule", "star-serial,star-async", "--steps", 5, "-o", path,
    )  # fmt: skip
    assert finished.status == 0, finished.err
    steps = mdapp.steps_in(path.read_text())
    assert len(steps) == 8
    for step in steps:
        assert step["path"] == "native"
        assert np.median(step["phases"]["kernel"]) > 1e-6


def test_host_and_gpu_agree() -> None:
    common = ("forces", "--n", 997, "--displace", 0.5, "--precision", "float")
    gpu, host = (
        np.array(mdapp.run(*common, "--engine", engine).json["forces_eV_per_angstrom"])
        for engine in ("cuda", "host")
    )
    rms = np.sqrt((host**2).sum(axis=1).mean())
    assert np.abs(gpu - host).max() <= 1e-4 * rms
