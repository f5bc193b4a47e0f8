"""Skeletons: steps without their work, which tell a path's communication without a program."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import gpucast as gc
from command_line import Run, assert_refused, only_json
from gpucast.data import jsonl
from gpucast.data.selection import StepSelection
from gpucast.fitting.candidates import Candidate
from gpucast.fitting.problem import Problem
from gpucast.fitting.selection import problem_of
from gpucast.model.fitted import Model
from gpucast.paths.skeletons import communication, relative_errors
from gpucast.util.remarks import texts_of
from made_data import LAUNCH_COUNTS, dataset, launch, machine, skeleton, step, transfer
from synthetic import noisy

SIGMA = 0.02

# s that a kernel takes with its start beyond what it was asked for, on every path.
START = 2e-6

SIZES = (256, 1024, 4096, 16384, 65536, 262144)
GPUS = (1, 2, 3, 4)
BUSY = (5e-6, 20e-6, 200e-6)


@dataclass(frozen=True)
class Star:
    """A path, in the words of docs/reference/model-terms.md: seconds, bytes/second."""

    t_kernel: float
    B_host: float
    L_h2d: float
    B_h2d: float
    L_d2h: float
    B_d2h: float
    com: str = "star-async"

    def beyond(self, n: float, gpus: int, t_gpu: float) -> float:
        """What a step costs beside computing, s."""
        up = self.L_h2d + 16 * n / self.B_h2d
        down = self.L_d2h + 12 * n / gpus / self.B_d2h
        if self.com == "star-async":
            others = (gpus - 1) * (16 * n + 12 * n / gpus)
            return up + down + others / self.B_host + gpus * self.t_kernel
        one_after_another = gpus * (up + down + self.t_kernel)
        if self.com == "star-async-turns":
            return one_after_another + (gpus - 1) * t_gpu
        assert self.com == "star-serial"
        return one_after_another

    def step(self, n: float, gpus: int) -> float:
        """Seconds of a program's step here; its GPU and CPU times are the same everywhere."""
        t_gpu = 8e-6 + np.ceil(n / gpus) * n * 2e-12
        return float(t_gpu + 6e-9 * n + self.beyond(n, gpus, t_gpu))

    @property
    def schedule(self) -> str:
        return self.com.removesuffix("-turns")


NEAR = Star(4e-6, 60e9, 6e-6, 20e9, 8e-6, 15e9)
FAR = Star(12e-6, 8e9, 20e-6, 5e9, 30e-6, 2e9)
FAR_BY_TURNS = Star(12e-6, 8e9, 20e-6, 5e9, 30e-6, 2e9, "star-async-turns")
FAR_SERIAL = Star(12e-6, 8e9, 20e-6, 5e9, 30e-6, 2e9, "star-serial")
FARS = (FAR, FAR_BY_TURNS, FAR_SERIAL)


def skeletons(
    star: Star,
    seed: int = 1,
    *,
    sizes: Sequence[int] = SIZES,
    gpus: Sequence[int] = GPUS,
    seen_longer: float = 0.0,
    **other: Any,
) -> list[dict[str, Any]]:
    """Skeleton records; events see kernels that take `seen_longer` beyond what they do (s)."""
    rng = np.random.default_rng(seed)
    records = []
    for n in sizes:
        for count in gpus:
            for busy in BUSY:
                kernel = busy + START
                true = kernel + star.beyond(n, count, kernel)
                seconds = noisy(np.full(5, true), rng, SIGMA)
                shown = {"kernel_seconds": kernel + seen_longer, **other}
                records.append(skeleton(star.schedule, n, count, busy, seconds, **shown))
    return records


def hot_loops(star: Star, seed: int = 2, *, faster: float = 1.0, **other: Any) -> list[Any]:
    """Transfers and launches of which everything but the throughput is so much faster."""
    rng = np.random.default_rng(seed)
    lines = {"h2d": (star.L_h2d, star.B_h2d), "d2h": (star.L_d2h, star.B_d2h)}
    records = []
    for route, (latency, throughput) in lines.items():
        for size in (4**power for power in range(4, 13)):
            true = latency / faster + size / throughput
            seconds = noisy(np.full(5, true), rng, SIGMA)
            records.append(transfer(route, size, seconds, **other))
    for count in LAUNCH_COUNTS:
        true = count * star.t_kernel / faster
        records.append(launch(count, noisy(np.full(5, true), rng, SIGMA), **other))
    return records


def steps(
    star: Star, seed: int = 3, *, gpus: Sequence[int] = GPUS, **other: Any
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        step(
            n, count, noisy(np.full(5, star.step(n, count)), rng, SIGMA),
            schedule=star.schedule, **other,
        )
        for n in (500, 1000, 2000, 4000, 8000, 16000, 32000, 64000)
        for count in gpus
    ]  # fmt: skip


def made(*records: dict[str, Any]) -> gc.Dataset:
    return dataset([machine(), *records])


def near(star: Star = NEAR, **how: Any) -> Model:
    """A model of steps on the near path, with its microbenchmarks."""
    data = made(*steps(star), *hot_loops(star), *skeletons(star))
    return gc.fit(data, model=f"work+linear+{star.com}", **{"replicates": 40, **how})


@pytest.fixture(scope="module")
def native() -> Model:
    return near()


def far(star: Star, *more: dict[str, Any], **how: Any) -> gc.Dataset:
    """The far path: skeletons, and transfers and launches as of a hot loop."""
    loops = hot_loops(star, path="far", faster=3.0)
    return made(*loops, *skeletons(star, path="far", **how), *more)


def errors(model: Model, star: Star) -> np.ndarray:
    """Errors of forecasts for sizes and GPU counts, relative to the truth."""
    cells = [(n, count) for n in (700, 3000, 12000, 50000) for count in (1, 2, 4, 6)]
    forecasts = model.forecasts(
        *(np.array(column, dtype=float) for column in zip(*cells, strict=True))
    )
    return np.abs(forecasts.seconds / [star.step(n, count) for n, count in cells] - 1)


def posed(star: Star, *records: dict[str, Any]) -> Problem:
    return problem_of(made(*records), StepSelection(path="native", schedule=star.schedule))


# The term of a schedule


@pytest.mark.parametrize("star", FARS, ids=lambda star: star.com)
def test_the_term_that_made_the_data_is_found_and_forecasts_cells_left_out(star: Star) -> None:
    problem = posed(star, *hot_loops(star), *skeletons(star))
    known = [s for s in problem.skeletons if s.h2d_bytes != 16 * 4096 and s.gpus != 3]
    unseen = [s for s in problem.skeletons if s not in known]
    assert len(known) > 40
    assert len(unseen) > 20
    problem.skeletons = known
    chosen, fit = communication(problem, Candidate("work", "linear", "star-serial", ()), 1)
    assert chosen.com == star.com
    assert (chosen.gpu, chosen.cpu) == ("work", "linear")
    # A median of five is off by about half of a sample's noise, and the fit by less.
    assert np.median(relative_errors(fit, problem, unseen)) < SIGMA
    assert np.max(relative_errors(fit, problem, unseen)) < 5 * SIGMA


def test_terms_that_are_told_apart_are_far_apart() -> None:
    """What by turns takes is no star-async with other parameters."""
    problem = posed(FAR_BY_TURNS, *hot_loops(FAR_BY_TURNS), *skeletons(FAR_BY_TURNS))
    wrong = Candidate("work", "linear", "star-async", ()).model(problem)
    observations = problem.skeleton_observations(problem.skeletons, 64)
    fit = gc._core.fit(wrong, observations, [wrong.integer])
    assert np.percentile(relative_errors(fit, problem, problem.skeletons), 90) > 0.1


# What-if


@pytest.mark.parametrize("star", FARS[:2], ids=lambda star: star.com)
def test_skeletons_forecast_the_other_path_where_hot_loops_are_too_fast(
    native: Model, star: Star
) -> None:
    data = far(star)
    by_skeletons = gc.what_if(native, data)
    by_transfers = gc.what_if(native, data, launch="measured")
    assert by_skeletons.content["model"]["com"] == star.com
    assert by_skeletons.content["data"]["what_if"]["launch"] == "skeletons"
    assert by_transfers.content["data"]["what_if"]["launch"] == "measured"
    assert np.max(errors(by_skeletons, star)) < 0.05
    assert np.median(errors(by_transfers, star)) > 5 * np.median(errors(by_skeletons, star))
    for name in ("t_0", "t_pair", "t_cpu"):
        assert by_skeletons.parameter(name) == native.parameter(name)


def test_a_serial_schedule_keeps_its_term() -> None:
    serial = Star(4e-6, 60e9, 6e-6, 20e9, 8e-6, 15e9, "star-serial")
    remote = gc.what_if(near(serial), far(FAR_SERIAL))
    assert remote.content["model"]["com"] == "star-serial"
    assert np.max(errors(remote, FAR_SERIAL)) < 0.05


def test_intervals_hold_the_truth(native: Model) -> None:
    remote = gc.what_if(native, far(FAR))
    cells = [(n, count) for n in (700, 3000, 12000, 50000) for count in (1, 2, 4)]
    forecasts = remote.forecasts(*(np.array(c, dtype=float) for c in zip(*cells, strict=True)))
    truth = np.array([FAR.step(n, count) for n, count in cells])
    assert np.mean((forecasts.low <= truth) & (truth <= forecasts.high)) > 0.9


def test_what_events_see_on_the_other_path_does_not_matter(native: Model) -> None:
    """There they see messages on their way, too; how long a kernel takes to start is known from
    the model's own path, whose T_gpu counts it."""
    plain = gc.what_if(native, far(FAR))
    longer = gc.what_if(native, far(FAR, seen_longer=15e-6))
    assert native.content["kernel_start"] == pytest.approx(START)
    cells = [1000.0, 1000.0, 64000.0], [1.0, 4.0, 4.0]
    assert np.array_equal(plain.forecasts(*cells).seconds, longer.forecasts(*cells).seconds)


def test_without_skeletons_of_its_own_the_other_path_says_how_long_a_start_takes() -> None:
    bare = gc.fit(
        made(*steps(NEAR), *hot_loops(NEAR)), model="work+linear+star-async", replicates=0
    )
    assert bare.content["kernel_start"] is None
    assert np.max(errors(gc.what_if(bare, far(FAR)), FAR)) < 0.05
    # Seconds that are seen as part of the kernel are no part of the communication, whatever the
    # count of GPUs: they are taken off what one copy up and one down cost, and off nothing else.
    # Beside that the two fits are the same problem, to the solver's 1e-8; t_kernel, which counts
    # with the GPUs, must then be the same too, and which is larger is chance.
    plain = gc.what_if(bare, far(FAR))
    longer = gc.what_if(bare, far(FAR, seen_longer=5e-6))
    latencies = [model.parameter("L_h2d") + model.parameter("L_d2h") for model in (plain, longer)]
    assert latencies[0] - latencies[1] == pytest.approx(5e-6, rel=1e-3)
    assert longer.parameter("t_kernel") == pytest.approx(plain.parameter("t_kernel"), rel=1e-5)


def test_skeletons_that_move_other_bytes_than_steps_are_left_out_with_a_warning(
    native: Model,
) -> None:
    odd = skeletons(FAR, path="far", sizes=(8192,), gpus=(2,), d2h_bytes=12 * 8192)
    with_odd = gc.what_if(native, far(FAR, *odd))
    assert any("left out 3 skeleton(s) whose bytes" in text for text in with_odd.warnings)
    clean = gc.what_if(native, far(FAR))
    assert not any("skeleton" in text for text in clean.warnings)
    assert with_odd.forecast(1000, [1, 4]).equals(clean.forecast(1000, [1, 4]))


def test_where_no_skeleton_is_of_use_transfers_are_taken(native: Model) -> None:
    loops = hot_loops(FAR, path="far")
    for useless in (
        skeletons(FAR_SERIAL, path="far"),  # of another schedule
        skeletons(FAR, path="far", d2h_bytes=1),
    ):
        remote = gc.what_if(native, made(*loops, *useless))
        assert remote.content["data"]["what_if"]["launch"] == "measured"


def test_a_launch_that_was_asked_for_leaves_skeletons_aside(native: Model) -> None:
    loops = hot_loops(FAR, path="far", faster=3.0)
    for asked in ("measured", "keep", "scale"):
        beside = gc.what_if(native, far(FAR), launch=asked)
        alone = gc.what_if(native, made(*loops), launch=asked)
        assert beside.content["model"]["com"] == "star-async"
        assert beside.forecast(1000, [1, 4]).equals(alone.forecast(1000, [1, 4]))


def test_skeletons_of_the_steps_memory_are_taken() -> None:
    """Pageable copies of the same path are slower and not those of the steps."""
    data = made(
        *steps(NEAR, memory="pinned"), *hot_loops(NEAR), *skeletons(NEAR),
    )  # fmt: skip
    pinned = gc.fit(data, model="work+linear+star-async", replicates=0)
    slow = Star(12e-6, 8e9, 60e-6, 1e9, 90e-6, 5e8)
    both = made(
        *hot_loops(FAR, path="far"),
        *skeletons(FAR, path="far"),
        *skeletons(slow, path="far", memory="pageable"),
    )
    assert np.max(errors(gc.what_if(pinned, both), FAR)) < 0.05


def test_another_term_is_saved_and_loaded(native: Model, tmp_path: Path) -> None:
    turns = gc.what_if(native, far(FAR_BY_TURNS))
    turns.save(tmp_path / "turns.json")
    again = gc.load_model(tmp_path / "turns.json")
    assert again.content["model"]["com"] == "star-async-turns" != native.content["model"]["com"]
    assert again.content["data"]["schedule"] == "star-async"
    loaded, kept = (model.forecast(3000, GPUS).drop(columns="model") for model in (again, turns))
    # Replicates, and so intervals, are kept to ten digits.
    pandas.testing.assert_frame_equal(loaded, kept, rtol=1e-9)
    assert loaded.seconds.equals(kept.seconds)
    assert "B_host" in native.content["parameters"]
    assert "B_host" not in again.content["parameters"]
    measured = made(*steps(FAR_BY_TURNS, 9, path="far"))
    assert gc.validate(again, measured)["median_relative_error"] < 0.03


def test_the_command_line_says_the_new_term_and_takes_skeletons(
    native: Model, tmp_path: Path, run: Run
) -> None:
    native.save(tmp_path / "n.json")
    far(FAR_BY_TURNS).dump(tmp_path / "far.jsonl")
    status, out, err = run(
        "what-if", tmp_path / "n.json", "--transfers", tmp_path / "far.jsonl", "--path", "far",
        "-o", tmp_path / "r.json",
    )  # fmt: skip
    assert status == 0, err
    assert "Communication: star-async-turns, from skeletons of path far" in out
    assert gc.load_model(tmp_path / "r.json").content["model"]["com"] == "star-async-turns"


@pytest.mark.parametrize("wrong", ["2 us", -1e-6, [2e-6]])
def test_a_damaged_start_of_kernels_is_refused(
    native: Model, tmp_path: Path, run: Run, wrong: Any
) -> None:
    native.save(tmp_path / "n.json")
    content = json.loads((tmp_path / "n.json").read_text())
    (tmp_path / "n.json").write_text(json.dumps({**content, "kernel_start": wrong}))
    far(FAR).dump(tmp_path / "far.jsonl")
    words = ("what-if", tmp_path / "n.json", "--transfers", tmp_path / "far.jsonl")
    refused = run(*words, "--path", "far", "-o", tmp_path / "r.json")
    assert_refused(refused, "n.json", "kernel_start: must be ")
    assert not (tmp_path / "r.json").exists()


def test_kernels_that_seem_shorter_than_asked_for_start_at_once() -> None:
    records = skeletons(NEAR, seen_longer=-START - 1e-6)
    assert posed(NEAR, *hot_loops(NEAR), *records).kernel_start == 0.0


# Fits of steps


def test_skeletons_of_more_gpus_tell_what_steps_on_one_gpu_cannot() -> None:
    # On one GPU the root of the work is the same as the host's part, which steps time by itself.
    rng = np.random.default_rng(4)
    timed = [
        {**record, "phases": {"cpu": noisy(np.full(5, 6e-9 * record["n"]), rng, SIGMA).tolist()}}
        for record in steps(NEAR, gpus=(1,))
    ]
    alone = made(*timed, *hot_loops(NEAR))
    beside = made(*timed, *hot_loops(NEAR), *skeletons(NEAR))
    model = "work+linear+star-async"
    without = gc.fit(alone, model=model, replicates=0)
    assert not without.content["parameters"]["B_host"]["identified"]
    fitted = gc.fit(beside, model=model, replicates=0)
    assert fitted.content["parameters"]["B_host"]["identified"]
    assert fitted.parameter("B_host") == pytest.approx(NEAR.B_host, rel=0.1)
    assert np.max(errors(fitted, NEAR)) < 0.05


# Datasets


def test_skeletons_are_listed_selected_and_framed() -> None:
    data = made(
        *skeletons(NEAR), *skeletons(FAR_SERIAL, path="far", memory="pageable"), *steps(NEAR)
    )
    count = len(SIZES) * len(GPUS) * len(BUSY)
    assert len(data.skeletons) == 2 * count
    for by in ({"schedule": "star-serial"}, {"memory": "pageable"}, {"path": "far"}):
        chosen = data.select(**by).skeletons
        assert len(chosen) == count
        assert {s.path for s in chosen} == {"far"}
    frame = data.frame("skeleton")
    assert len(frame) == 2 * count * 5
    first = frame.iloc[0]
    assert (first.schedule, first.memory, first.gpus, first.busy) == (
        "star-async", "pinned", 1, 5e-6
    )  # fmt: skip
    assert first.kernel_seconds == pytest.approx(7e-6)
    assert first.seconds == data.skeletons[0].seconds[0]


def test_the_summary_has_a_row_a_kernel_and_path(run: Run, tmp_path: Path) -> None:
    made(*skeletons(NEAR)).dump(tmp_path / "s.jsonl")
    status, out, err = run("data", "show", tmp_path / "s.jsonl")
    assert status == 0, err
    table = out[out.index("skeleton: 72 records") :].splitlines()
    assert table[1] == "all: path native, schedule star-async, memory pinned"
    for name in ("busy", "bytes up", "gpus", "median"):
        assert name in table[2]
    rows = [line for line in table if "4096-4194304" in line]
    assert [row.split()[:2] for row in rows] == [["5", "us"], ["20", "us"], ["200", "us"]]
    assert all("1,2,3,4" in row for row in rows)
    status, out, _ = run("data", "show", tmp_path / "s.jsonl", "--all")
    assert status == 0
    cell = next(line for line in out.splitlines() if " 65536 " in line and " 24576 " in line)
    assert cell.split()[-4:-2] == ["2", "5"]  # GPUs and samples
    _, out, _ = run("data", "show", tmp_path / "s.jsonl", "--json")
    assert only_json(out)["counts"]["skeleton"] == {"records": 72, "samples": 360}


def test_the_measured_dataset_has_skeletons_of_every_path() -> None:
    data = gc.load("h200-x2")
    assert {s.path for s in data.skeletons} == {"native", "remote", "remote-sync"}
    assert {s.schedule for s in data.skeletons} == {"star-serial", "star-async"}
    for path in ("native", "remote", "remote-sync"):
        problem = problem_of(
            data.where(lambda _: False), StepSelection(path=path, schedule="star-async")
        )
        assert problem.skeletons
        assert not any("skeleton" in text for text in texts_of(problem.remarks))


def test_no_piece_of_a_curve_lies_beyond_the_largest_skeleton() -> None:
    """Transfers of the measured path bend at sizes that no skeleton has; a piece of its own there
    would have no observation, and any throughput."""
    data = gc.load("h200-x4").where(lambda _: False)
    problem = problem_of(
        data, StepSelection(path="remote", schedule="star-serial", memory="pageable")
    )
    chosen, fit = communication(problem, Candidate("work", "linear", "star-serial"), 1)
    largest = max(s.h2d_bytes for s in problem.skeletons)
    assert all(point < largest for _, points in chosen.breakpoints for point in points)
    values = dict(zip((name for name, _, _ in fit.model.parameters), fit.values, strict=True))
    assert all(values[name] > 1e9 for name in ("B_h2d", "B_d2h"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("busy", 0.0),
        ("busy", -1e-6),
        ("gpus", 0),
        ("gpus", 1.5),
        ("schedule", "star-asink"),
        ("memory", "punched"),
        ("h2d_bytes", 0),
        ("d2h_bytes", -12),
        ("kernel_seconds", 0.0),
        ("seconds", []),
        ("seconds", [0.0]),
    ],
)
def test_wrong_records_are_refused_by_the_name_of_the_field(field: str, value: Any) -> None:
    good = skeleton("star-async", 1000, 2, 5e-6, [1e-4])
    jsonl.record(good)
    with pytest.raises(gc.InputError, match=rf"^{field}\b"):
        jsonl.record({**good, field: value})
