"""What a what-if knows, and does not know, of its path."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.model.intervals import Interval
from gpucast.model.other_path import OnOtherPath
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


def never_late(busy: float) -> float:
    """How much longer communication takes after the GPUs were busy for so many s; a factor."""
    del busy
    return 1.0


def microbenchmarks(
    com: Callable[[float, float], float],
    path: str,
    counts: tuple[int, ...] = COUNTS,
    late: Callable[[float], float] = never_late,
) -> list[dict[str, object]]:
    records = [
        skeleton(
            "star-serial", n, gpus, busy, [busy + START + com(n, gpus) * late(busy)] * 5,
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
    return gc.fit(data, model="work+linear+star-serial", replicates=40)


def there(
    native: Model, com: Callable[[float, float], float], path: str = "far", **how: object
) -> Model:
    return gc.what_if(native, dataset([machine(), *microbenchmarks(com, path, **how)]))


def width(model: Model, n: float, gpus: float) -> float:
    """Half-width of the interval of the expected time, of its logarithm."""
    forecasts = model.forecasts([n], [gpus])
    return float(np.log(forecasts.mean_high[0] / forecasts.mean_low[0]) / 2)


def test_communication_that_no_term_describes_follows_its_skeletons(native: Model) -> None:
    model = there(native, slow_in_the_middle)
    n, gpus = outer([1024.0, 4096.0, 16384.0], [1.0, 2.0, 4.0])
    truth = np.array(
        [sum(computing(*c)) + slow_in_the_middle(*c) for c in zip(n, gpus, strict=True)]
    )
    with_process = np.abs(model.forecasts(n, gpus).seconds / truth - 1)
    assert model.other_path is not None
    form = replace(
        model,
        other_path=replace(model.other_path, n=[], gpus=[], wait=[], deviation=[], variance=[]),
    )
    without = np.abs(form.forecasts(n, gpus).seconds / truth - 1)
    assert np.max(with_process) < 0.5 * np.max(without)
    assert np.max(with_process) < 0.04


def test_communication_takes_longer_the_longer_gpus_were_busy_as_skeletons_showed(
    native: Model,
) -> None:
    """Threads that carry copies sleep the deeper the longer they wait: 64 % more after 200 us."""

    def late(busy: float) -> float:
        return float((busy / 5e-6) ** 0.134)

    model = there(native, far, late=late)
    n, gpus = outer([1024.0, 4096.0, 9000.0], [1.0, 2.0, 4.0])
    forecasts = model.forecasts(n, gpus).seconds
    work, host = np.array([computing(*cell) for cell in zip(n, gpus, strict=True)]).T
    moved = np.array([far(*cell) for cell in zip(n, gpus, strict=True)])
    longest = np.minimum(work, max(BUSY))
    truth = work + host + moved * (longest / 5e-6) ** 0.134
    assert np.max(np.abs(forecasts / truth - 1)) < 0.05
    assert np.max(truth / (work + host + moved)) > 1.25


def test_parts_add_up_and_draws_are_as_wide_as_intervals(native: Model) -> None:
    model = there(native, far)
    n, gpus = outer([1000.0, 30000.0], [1.0, 4.0])
    forecasts = model.forecasts(n, gpus)
    assert forecasts.t_gpu + forecasts.t_cpu + forecasts.t_com == pytest.approx(forecasts.seconds)
    assert model.seconds(n, gpus) == pytest.approx(forecasts.seconds)
    drawn = np.log(model.draws(n, gpus, 2000) / forecasts.seconds)
    # Sd of a standard deviation of 2000 draws is 1.6 %; first order in e^x costs a few percent.
    assert drawn.std(axis=0) == pytest.approx(forecasts.spread, rel=0.15)
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
    remarks = [text for text in alone.warnings if "one GPU alone" in text]
    assert len(remarks) == 1
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


@pytest.mark.parametrize(("inline", "late"), [(48 << 10, True), (1 << 20, False)])
def test_large_copies_over_remote_gpus_find_their_threads_asleep(
    native: Model, inline: int, late: bool
) -> None:
    """What no loop of transfers shows; the path's layer says which copies are large."""
    n, gpus = 16384.0, 1.0  # 256 KiB, after 0.5 ms
    assert computing(n, gpus)[0] == pytest.approx(0.545e-3, rel=0.01)
    beside = [machine() | {"inline_bytes": inline}, *microbenchmarks(far, "far")]
    by_transfers = gc.what_if(native, dataset(beside), launch="measured")
    plain = gc.what_if(
        native, dataset([machine(), *microbenchmarks(far, "far")]), launch="measured"
    )
    more = by_transfers.forecasts([n], [gpus]).seconds[0] - plain.forecasts([n], [gpus]).seconds[0]
    if late:
        assert 200e-6 < more < 600e-6
    else:
        assert more == pytest.approx(0.0, abs=1e-9)
    # Skeletons that waited as long have shown it.
    by_skeletons = gc.what_if(native, dataset(beside)).forecasts([2000.0], [gpus])
    assert by_skeletons.seconds == pytest.approx(
        there(native, far).forecasts([2000.0], [gpus]).seconds
    )


@pytest.mark.parametrize("factor", [0.85, 1.0, 1.2])
def test_a_host_whose_steps_all_miss_their_skeletons_is_within_intervals(
    native: Model, factor: float
) -> None:
    """Steps of groups took 0.8 to 1.2 of the communication that skeletons there showed."""
    n, gpus = outer([1000.0, 8000.0, 64000.0], [1.0, 2.0, 4.0])
    forecasts = there(native, far).forecasts(n, gpus)
    truth = [sum(computing(*cell)) + factor * far(*cell) for cell in zip(n, gpus, strict=True)]
    assert np.all((forecasts.low < truth) & (truth < forecasts.high))


def test_without_skeletons_intervals_are_wider(native: Model) -> None:
    data = dataset([machine(), *microbenchmarks(far, "far")])
    by_skeletons = gc.what_if(native, data)
    by_transfers = gc.what_if(native, data, launch="measured")
    kept = gc.what_if(native, data, launch="keep")
    assert width(by_skeletons, 1000.0, 2.0) < width(by_transfers, 1000.0, 2.0)
    assert width(by_transfers, 1000.0, 2.0) < width(kept, 1000.0, 2.0)


def test_visits_narrow_a_cells_interval(native: Model) -> None:
    model = there(native, far)
    forecasts = model.forecasts([1000.0], [2.0])
    once = model.cell_intervals(forecasts, [20], np.zeros(1))
    four = model.cell_intervals(forecasts, [20], np.zeros(1), [4])
    assert once[0] < four[0] < forecasts.seconds < four[1] < once[1]
    assert once[0] == pytest.approx(forecasts.low)


def test_transfers_larger_than_any_copy_of_a_step_are_refused(native: Model) -> None:
    large = [
        transfer(route, size, [1e-4 + size / 4e9] * 5, path="far")
        for route in ("h2d", "d2h") for size in (2**26, 2**27, 2**28)
    ]  # fmt: skip
    with pytest.raises(gc.InputError, match="no h2d transfers below 67108864 bytes"):
        gc.what_if(native, dataset([machine(), *large]))


def test_draws_are_of_the_machine_and_time_that_forecasts_are_of(native: Model) -> None:
    """They were of the machine and the minutes that were fitted."""
    model = there(native, far)
    cells = [(1000, 1), (8000, 2), (32000, 4)]
    steps = [
        step(n, gpus, [1.5 * (sum(computing(n, gpus)) + far(n, gpus))] * 3, path="far", machine="b")
        for n, gpus in cells
    ]
    updated = model.updated(dataset([machine(name="b"), *steps]))
    n, gpus = outer([2000.0, 16000.0], [1.0, 2.0, 4.0])
    forecast = updated.forecasts(n, gpus).seconds
    assert (forecast > 1.1 * model.forecasts(n, gpus).seconds).all()
    assert updated.seconds(n, gpus) == pytest.approx(forecast)
    assert np.median(updated.draws(n, gpus, 400), axis=0) == pytest.approx(forecast, rel=0.05)
    now, elsewhere = (
        np.log(model.draws(n, gpus, 400, interval)).std(axis=0)
        for interval in (Interval.now, Interval.machine)
    )
    spread = model.forecasts(n, gpus, Interval.machine).common
    assert elsewhere**2 - now**2 == pytest.approx(spread, rel=0.5)


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
    model.other_path.deviation.pop()
    model.save(tmp_path / "r.json")
    with pytest.raises(gc.InputError, match="as many n as gpus"):
        gc.load_model(tmp_path / "r.json")


def test_visits_are_weighed_in_variance_by_hand(native: Model) -> None:
    model = there(native, far)
    assert isinstance(model.engine, OnOtherPath)
    elsewhere = model.engine.elsewhere
    gpu, cpu, com = (np.array([x]) for x in (6.0, 3.0, 1.0))
    expected = (0.0035 * 0.6) ** 2 + (0.15 * 0.3) ** 2 + (0.08 * 0.1) ** 2
    assert elsewhere.visit_variance(gpu, cpu, com) == pytest.approx(expected)
