"""A rehearsal of eight GPUs: eight CPU threads, and eight servers over a fake driver.

Times do not matter here, only that everything is measured once and correctly.
"""

import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
import mdapp
from command_line import Run, answer_of, only_json, start_measuring
from gpucast.data import jsonl
from gpucast.measure import programs
from made_data import NATIVE, dataset, machine, microbenchmarks, steps
from remote_servers import CLIENT, PROBE, addresses, fake_kernels, script_environment, servers
from synthetic import N_GRID
from waiting import HANG

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EIGHT = range(1, 9)
HOST = ("--engine", "host", "--host-devices", 8)
SERIES = {("star-serial", "pageable"), ("star-async", "pinned"), ("allgather", "pinned")}

ANY_INTERVAL = "1e9"
"""A median's interval so wide that the least number of samples will do, whatever they are."""


def cells(records: Iterable[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """How often each cell is there."""
    return Counter(
        (r["path"], r["schedule"], r["memory"], r["kernel"], r["n"], r["gpus"])
        for r in records
        if r["kind"] == "step"
    )


def all_cells(
    path: str, n: Iterable[int], kernels: Iterable[str], series: Iterable[tuple[str, str]] = SERIES
) -> Counter[tuple[Any, ...]]:
    """Each once, on one device to eight."""
    ways = [(*star, kernel) for star in series for kernel in kernels]
    return Counter((path, *way, size, gpus) for way in ways for size in n for gpus in EIGHT)


# --- the programs ----------------------------------------------------------------------------


def test_steps_of_every_schedule_on_one_device_to_eight(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    for schedule, memory in SERIES:
        finished = mdapp.run(
            "measure", *HOST, "--n", "5,64", "--gpus", "1-8", "--schedule", schedule,
            "--memory", memory, "--kernel", "claret,tuned", "--steps", 3, "--warm-up", 0,
            "--quiet", "--append", "-o", path,
        )  # fmt: skip
        assert finished.status == 0, finished.err
    records = mdapp.records_in(path.read_text())
    assert cells(records) == all_cells("host", (5, 64), ("claret", "tuned"))
    for record in mdapp.steps_in(path.read_text()):
        assert len(record["seconds"]) == 3
        assert min(record["seconds"]) > 0


@pytest.mark.parametrize("kernel", ["claret", "tuned"])
def test_a_trajectory_has_the_same_bits_on_one_device_as_on_eight(
    kernel: str, tmp_path: Path
) -> None:
    """131 particles: a prime, which only one device divides evenly."""

    def trajectory(schedule: str, gpus: int) -> bytes:
        path = tmp_path / "run.xyz"
        finished = mdapp.run(
            "simulate", *HOST, "--n", 131, "--temperature", 1100, "--steps", 12, "--every", 4,
            "--kernel", kernel, "--schedule", schedule, "--gpus", gpus, "--trajectory", path,
            "--force",
        )  # fmt: skip
        assert finished.status == 0, finished.err
        return path.read_bytes()

    one = trajectory("star-serial", 1)
    assert len(list(mdapp.frames_of(one.decode()))) == 4
    for schedule, _ in SERIES:
        for gpus in (5, 6, 7, 8):
            assert trajectory(schedule, gpus) == one, (schedule, gpus)


def test_skeletons_go_up_to_eight_devices(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    subprocess.run(
        [
            programs.find(programs.MICROBENCH), "measure", *map(str, HOST), "--what", "skeleton",
            "--largest", "4096", "--budget", "0", "--fresh", "0", "--interval", ANY_INTERVAL,
            "--quiet", "-o", path,
        ],
        check=True,
        capture_output=True,
        timeout=HANG,
    )  # fmt: skip
    records = mdapp.records_in(path.read_text())
    pairs = {(r["schedule"], r["gpus"]) for r in records if r["kind"] == "skeleton"}
    counts = (1, 2, 3, 4, 6, 8)
    assert pairs == {(s, g) for s in ("star-serial", "star-async") for g in counts}


# --- gpucast measure -------------------------------------------------------------------------


KERNELS = fake_kernels("microbench", "mdapp")
FAKED = {"GPUCAST_FAKE_KERNELS": ":".join(map(str, KERNELS))}
STARS = [series for series in SERIES if series[0] != "allgather"]
"""NCCL does not support remote GPUs."""

over_servers = pytest.mark.skipif(
    not PROBE.exists() or not all(file.exists() for file in KERNELS), reason=f"no {PROBE}"
)


@over_servers
def test_a_campaign_over_eight_servers(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    with servers(8, "--spin-us", "0", **FAKED) as running:
        eight = addresses(running).replace(",", "+")
        process = start_measuring(
            "--paths", f"remote={eight}", "--n", "64,216", "--gpus", "1-8", "--kernels", "claret",
            "--memory", "pageable", "--max-time", "0.02s", "--no-transfers", "--json", "--quiet",
            "-o", path, GPUCAST_REMOTE_LIB=str(CLIENT), GPUCAST_REMOTE_SPIN_US="0",
        )  # fmt: skip
        out, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert [report["status"] for report in only_json(out)["paths"]] == ["complete"]
    records = mdapp.records_in(path.read_text())
    assert cells(records) == all_cells("remote", (64, 216), ("claret",), STARS)
    (facts,) = gc.load(path).machines.values()
    assert [gpu.name for gpu in facts.gpus or []] == [f"fake GPU {k}" for k in range(8)]


@over_servers
def test_the_script_for_a_machine_with_eight(tmp_path: Path) -> None:
    """``lab/gpu.sh dataset``: its native GPUs are servers' here, as its remote ones are."""
    folder = tmp_path / "out"
    with servers(8, "--spin-us", "0", **FAKED) as running:
        environment = script_environment(
            tmp_path,
            running,
            KERNELS,
            GPUCAST_BUDGET="0",
            GPUCAST_INTERVAL=ANY_INTERVAL,
            GPUCAST_CELL_SECONDS="0.02",
            GPUCAST_MEMORIES="pageable",
            GPUCAST_SCHEDULES="star-serial,star-async",
        )
        finished, again = (
            subprocess.run(
                [ROOT / "lab" / "gpu.sh", "dataset", folder],
                env=environment, capture_output=True, text=True, timeout=HANG,
            )
            for _ in range(2)
        )  # fmt: skip
    output = "".join(path.read_text() for path in sorted(folder.glob("*.txt")))
    assert finished.returncode == 0, finished.stdout + finished.stderr + output
    *parts, _ = [line.partition(":")[0] for line in finished.stdout.splitlines()]
    paths = ("native", "remote", "remote-sync")
    rounds = [
        [f"micro-{path}-{k}" for path in paths] + [f"cells-{path}-{k}-claret" for path in paths]
        for k in (1, 2)
    ]
    assert parts == [*rounds[0], *rounds[1], "concurrent"]
    # Everything exists: nothing is measured again.
    assert len(again.stdout.splitlines()) == 1
    records = mdapp.records_in((folder / "dataset.jsonl").read_text())
    once = sum((all_cells(path, (64,), ("claret",), STARS) for path in paths), Counter())
    assert cells(records) == once + once
    for label in paths:
        of_path = [r for r in records if r.get("path") == label]
        assert {r["machine"] for r in of_path} == {f"x8/{label}"}
        skeletons = {r["gpus"] for r in of_path if r["kind"] == "skeleton"}
        assert skeletons == {1, 2, 3, 4, 6, 8}
        assert {r["route"] for r in of_path if r["kind"] == "transfer"} >= {"h2d", "d2h"}
    assert len(gc.load(folder / "dataset.jsonl").machines) == 3


# --- the forecast for comparison with a machine with eight ------------------------------------


def test_eight_gpus_are_forecast_from_four(run: Run, tmp_path: Path) -> None:
    """Records of another machine, with noise of 3 % on every step, as ``gpucast validate`` sees
    them; what is forecast, 5 to 8 GPUs, is off by no more than the noise of the median of 15."""
    sigma, repeats = 0.03, 15

    def made(name: str, gpus: Iterable[int], seed: int) -> Path:
        rng = np.random.default_rng(seed)
        of_it = {"machine": name, "memory": "pinned"}
        counts = np.array(list(gpus), dtype=float)
        lines = [
            machine(name=name),
            *steps(NATIVE.seconds, rng, gpus=counts, sigma=sigma, repeats=repeats, **of_it),
            *microbenchmarks(NATIVE, rng, sigma=sigma, machine=name),
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text(jsonl.to_text(dataset(lines)._all()))
        return path

    model = tmp_path / "model.json"
    status, _, err = run("fit", made("four", range(1, 5), 1), "-o", model)
    assert status == 0, err
    answer = answer_of(run("validate", model, made("eight", EIGHT, 2), "--json"))
    beyond = [cell for cell in answer["cells"] if cell["gpus"] > 4]
    assert len(beyond) == 4 * N_GRID.size
    assert all(cell["extrapolated"] for cell in beyond)
    errors = np.abs([cell["relative_error"] for cell in beyond])
    assert np.median(errors) < sigma / 2
    assert np.max(errors) < 2 * sigma
    true = NATIVE.seconds(*(np.array([c[key] for c in beyond], float) for key in ("n", "gpus")))
    off = np.abs(np.array([cell["predicted"] for cell in beyond]) / true - 1)
    assert np.max(off) < sigma
