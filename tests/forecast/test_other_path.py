"""What a what-if knows, and does not know, of its path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from gpucast.forecast.other_path import shared_by_visits
from gpucast.model.content import TimedVisits
from gpucast.model.fitted import Model
from gpucast.model.forecaster import outer
from gpucast.model.other_path import Elsewhere
from made_data import LAUNCH_COUNTS, dataset, launch, machine, skeleton, step, transfer

N = (256, 1024, 4096, 16384, 65536)
COUNTS = (1, 2, 4)
BUSY = (5e-6, 20e-6, 200e-6)
START = 2e-6


def computing(n: float, gpus: float) -> tuple[float, float]:
    """T_gpu and T_cpu, s: the same on all paths."""
    return 8e-6 + np.ceil(n / gpus) * n * 2e-12, 6e-9 * n


def near(n: float, gpus: float) -> float:
    """T_com of star-serial natively, s."""
    return gpus * (14e-6 + 16 * n / 20e9 + 12 * n / gpus / 15e9 + 4e-6)


def far(n: float, gpus: float) -> float:
    """The same of another path."""
    return gpus * (50e-6 + 16 * n / 5e9 + 12 * n / gpus / 2e9 + 12e-6)


def slow_in_the_middle(n: float, gpus: float) -> float:
    """One that no term describes: a quarter more around n = 4096."""
    return far(n, gpus) * (1 + 0.25 * np.exp(-0.5 * np.log(n / 4096) ** 2))


def microbenchmarks(
    com: Callable[[float, float], float], path: str, counts: tuple[int, ...] = COUNTS
) -> list[dict[str, object]]:
    records = [
        skeleton(
            "star-serial", n, gpus, busy, [busy + START + com(n, gpus)] * 5,
            kernel_seconds=busy + START, path=path,
        )
        for n in N for gpus in counts for busy in BUSY
    ]  # fmt: skip
    latency = com(1e-9, 1) / 2
    for route in ("h2d", "d2h"):
        for size in (4**power for power in range(4, 13)):
            records.append(transfer(route, size, [latency + size / 4e9] * 5, path=path))
    records += [launch(count, [count * 4e-6] * 5, path=path) for count in LAUNCH_COUNTS]
    return records


@pytest.fixture(scope="module")
def native() -> Model:
    rng = np.random.default_rng(1)
    steps = [
        step(n, gpus, (sum(computing(n, gpus)) + near(n, gpus)) * rng.normal(1, 0.01, 5))
        for n in (500, 1000, 2000, 4000, 8000, 16000, 32000, 64000)
        for gpus in COUNTS
    ]
    data = dataset([machine(), *steps, *microbenchmarks(near, "native")])
    fitted = gc.fit(data, model="work+linear+star-serial", replicates=40)
    assert isinstance(fitted, Model)
    return fitted


def there(
    native: Model, com: Callable[[float, float], float], path: str = "far", **how: object
) -> Model:
    return gc.what_if(native, dataset([machine(), *microbenchmarks(com, path, **how)]))  # type: ignore[arg-type]


def width(model: Model, n: float, gpus: float) -> float:
    """Half-width of the interval of the expected time, of its logarithm."""
    found = model.forecasts([n], [gpus])
    return float(np.log(found.mean_high[0] / found.mean_low[0]) / 2)


def test_communication_that_no_term_describes_follows_its_skeletons(native: Model) -> None:
    model = there(native, slow_in_the_middle)
    n, gpus = outer([1024.0, 4096.0, 16384.0], [1.0, 2.0, 4.0])
    truth = np.array(
        [sum(computing(*c)) + slow_in_the_middle(*c) for c in zip(n, gpus, strict=True)]
    )
    with_process = np.abs(model.forecasts(n, gpus).seconds / truth - 1)
    assert model.other_path is not None
    form = replace(
        model, other_path=replace(model.other_path, n=[], gpus=[], deviation=[], variance=[])
    )
    without = np.abs(form.forecasts(n, gpus).seconds / truth - 1)
    assert np.max(with_process) < 0.5 * np.max(without)
    assert np.max(with_process) < 0.04


def test_parts_add_up_and_draws_are_as_wide_as_intervals(native: Model) -> None:
    model = there(native, far)
    n, gpus = outer([1000.0, 30000.0], [1.0, 4.0])
    found = model.forecasts(n, gpus)
    assert found.t_gpu + found.t_cpu + found.t_com == pytest.approx(found.seconds)
    assert model.seconds(n, gpus) == pytest.approx(found.seconds)
    drawn = np.log(model.draws(n, gpus, 2000) / found.seconds)
    # Sd of a standard deviation of 2000 draws is 1.6 %; first order in e^x costs a few percent.
    assert drawn.std(axis=0) == pytest.approx(found.spread, rel=0.15)
    # What steps have in common with one another is drawn once for all of them.
    assert np.corrcoef(drawn.T)[0, 1] > 0.3


def test_the_best_count_is_the_likeliest(native: Model) -> None:
    model = there(native, far)
    n, gpus = np.array([500.0, 8000.0, 64000.0]), np.array([1.0, 2.0, 4.0])
    shares = model.best_shares(n, gpus)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    fastest = model.forecasts(*outer(n, gpus)).seconds.reshape(3, 3).argmin(axis=1)
    assert list(shares.argmax(axis=1)) == list(fastest)
    assert shares[0, 0] > 0.95
    assert shares[2, 2] > 0.95


def test_what_communication_leaves_open_counts_by_its_share(native: Model) -> None:
    model = there(native, far)
    small, large = width(model, 500.0, 4.0), width(model, 64000.0, 1.0)
    share = [model.forecasts([n], [g]) for n, g in ((500.0, 4.0), (64000.0, 1.0))]
    assert share[0].t_com[0] > 0.8 * share[0].seconds[0]
    assert share[1].t_com[0] < 0.1 * share[1].seconds[0]
    assert large < 0.4 * small


def test_more_gpus_than_measured_are_the_less_certain(native: Model) -> None:
    model = there(native, far)
    widths = [width(model, 1000.0, gpus) for gpus in (4.0, 8.0, 16.0)]
    assert widths[0] < widths[1] < widths[2]


def test_one_gpu_alone_is_said_and_widens(native: Model) -> None:
    alone, several = there(native, far, counts=(1,)), there(native, far)
    said = [text for text in alone.warnings if "one GPU alone" in text]
    assert len(said) == 1
    assert not any("one GPU alone" in text for text in several.warnings)
    assert width(alone, 1000.0, 4.0) > 1.5 * width(several, 1000.0, 4.0)
    assert width(alone, 1000.0, 1.0) < 1.1 * width(several, 1000.0, 1.0)


def test_threads_sleep_on_remote_gpus_after_two_milliseconds(native: Model) -> None:
    remote, other = there(native, far, "remote"), there(native, far)
    for n, gpus, asleep in ((16000.0, 1.0, False), (64000.0, 4.0, True), (64000.0, 1.0, True)):
        waits = computing(n, gpus)[0]
        assert (waits > 2e-3) == asleep
        more = remote.forecasts([n], [gpus]).seconds[0] - other.forecasts([n], [gpus]).seconds[0]
        if asleep:
            assert 50e-6 * gpus < more < 500e-6 * gpus
        else:
            assert more == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("factor", [0.75, 1.0, 1.35])
def test_a_host_whose_steps_all_miss_their_skeletons_is_within_intervals(
    native: Model, factor: float
) -> None:
    """Steps of whole hosts took 0.7 to 1.4 of the communication that skeletons there showed."""
    n, gpus = outer([1000.0, 8000.0, 64000.0], [1.0, 2.0, 4.0])
    found = there(native, far).forecasts(n, gpus)
    truth = [sum(computing(*cell)) + factor * far(*cell) for cell in zip(n, gpus, strict=True)]
    assert np.all((found.low < truth) & (truth < found.high))


def test_without_skeletons_intervals_are_wider(native: Model) -> None:
    data = dataset([machine(), *microbenchmarks(far, "far")])
    by_skeletons = gc.what_if(native, data)
    by_transfers = gc.what_if(native, data, launch="measured")
    kept = gc.what_if(native, data, launch="keep")
    assert width(by_skeletons, 1000.0, 2.0) < width(by_transfers, 1000.0, 2.0)
    assert width(by_transfers, 1000.0, 2.0) < width(kept, 1000.0, 2.0)


def test_visits_narrow_a_cells_interval(native: Model) -> None:
    model = there(native, far)
    found = model.forecasts([1000.0], [2.0])
    once = model.cell_intervals(found, [20], np.zeros(1))
    four = model.cell_intervals(found, [20], np.zeros(1), [4])
    assert once[0] < four[0] < found.seconds < four[1] < once[1]
    assert once[0] == pytest.approx(found.low)


def test_transfers_larger_than_any_copy_of_a_step_are_refused(native: Model) -> None:
    large = [
        transfer(route, size, [1e-4 + size / 4e9] * 5, path="far")
        for route in ("h2d", "d2h") for size in (2**26, 2**27, 2**28)
    ]  # fmt: skip
    with pytest.raises(gc.InputError, match="no h2d transfers below 67108864 bytes"):
        gc.what_if(native, dataset([machine(), *large]))


def test_a_model_file_keeps_what_is_known(native: Model, tmp_path: Path) -> None:
    model = there(native, slow_in_the_middle)
    model.save(tmp_path / "r.json")
    again = gc.load_model(tmp_path / "r.json")
    n, gpus = outer([700.0, 64000.0], [1.0, 8.0])
    one, two = model.forecasts(n, gpus), again.forecasts(n, gpus)
    assert two.seconds == pytest.approx(one.seconds, rel=1e-8)
    assert two.high == pytest.approx(one.high, rel=1e-5)


def test_a_damaged_file_is_refused(native: Model, tmp_path: Path) -> None:
    model = there(native, far)
    assert model.other_path is not None
    model.other_path.deviation.pop()
    model.save(tmp_path / "r.json")
    with pytest.raises(gc.InputError, match="as many n as gpus"):
        gc.load_model(tmp_path / "r.json")


def test_visits_are_weighed_in_variance_by_hand(native: Model) -> None:
    model = there(native, far)
    elsewhere = model.elsewhere
    assert isinstance(elsewhere, Elsewhere)
    gpu, cpu, com = (np.array([x]) for x in (6.0, 3.0, 1.0))
    expected = (0.0035 * 0.6) ** 2 + (0.15 * 0.3) ** 2 + (0.08 * 0.1) ** 2
    assert elsewhere.visit_variance(gpu, cpu, com) == pytest.approx(expected)


def host_visits(common: tuple[float, ...], own: float, cells: int = 400) -> TimedVisits:
    """Visits round by round, each with a factor e^common on all its cells' host work; 100 us."""
    rng = np.random.default_rng(3)
    cell = list(range(cells)) * len(common)
    cpu = 1e-4 * np.exp(np.repeat(common, cells) + own * rng.standard_normal(len(cell)))
    nothing = [0.0] * len(cell)
    return TimedVisits(
        cell=cell, seconds=[1e-3] * len(cell), variance=nothing, cpu=cpu.tolist(),
        cpu_variance=nothing,
    )  # fmt: skip


def test_what_all_cells_of_a_visit_share_is_told_from_what_is_a_cells_own() -> None:
    # Squares of the factors' deviations from their mean sum to 0.02, over three degrees of freedom.
    shared = shared_by_visits(host_visits((0.2, 0.1, 0.1, 0.0), own=0.1))
    assert shared == pytest.approx((0.02 / 3) ** 0.5, rel=0.1)
    assert shared_by_visits(host_visits((0.0, 0.0, 0.0, 0.0), own=0.1)) < 0.01


def test_few_cells_single_visits_and_clock_ticks_tell_nothing_of_what_is_shared() -> None:
    assert shared_by_visits(host_visits((0.3, -0.3), own=0.0, cells=7)) == 0.0
    assert shared_by_visits(host_visits((0.3,), own=0.0)) == 0.0
    assert shared_by_visits(host_visits((-3.0, -3.6), own=0.0)) == 0.0
    untimed = host_visits((0.3, -0.3), own=0.0)
    assert shared_by_visits(replace(untimed, cpu=[None] * len(untimed.cell))) == 0.0


def test_a_host_that_visits_share_widens_what_is_kept_of_it(native: Model) -> None:
    rng = np.random.default_rng(2)
    visits = [
        step(n, gpus, (gpu + cpu * factor + near(n, gpus)) * rng.normal(1, 0.003, 5),
             phases={"cpu": [cpu * factor] * 5})
        for factor in (1.3, 0.8, 1.0) for n in (2000, 4000, 8000, 16000, 32000, 64000)
        for gpus in COUNTS for gpu, cpu in [computing(n, gpus)]
    ]  # fmt: skip
    data = dataset([machine(), *visits, *microbenchmarks(near, "native")])
    busy = gc.fit(data)
    assert isinstance(busy, Model)
    shared = float(np.std(np.log([1.3, 0.8, 1.0]), ddof=1))
    known, usual = there(busy, far).other_path, there(native, far).other_path
    assert known is not None
    assert usual is not None
    expected = usual.host**2 + (shared**2 - 0.05**2) * (1 + 1 / 3)
    assert known.host == pytest.approx(expected**0.5, rel=0.05)
