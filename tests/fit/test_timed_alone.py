"""What copies and launches that were timed alone determine, and what they leave open."""

from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np
import pytest

import gpucast as gc
from gpucast import _core
from gpucast.data.records import Launch
from gpucast.data.vocabulary import Schedule
from gpucast.fitting.mixture import Belief, known_alone, line
from gpucast.fitting.selection import problem_of
from gpucast.fitting.synchronous import terms_left, waits_for_calls
from made_data import TRANSFER_SIZES, dataset, launch, machine, step, transfer

LATENCY, THROUGHPUT = (Belief(*prior) for prior in _core.TRANSFER_PRIORS)


def believed(
    time: Callable[[float], float],
    least: float,
    most: float,
    sizes: Sequence[float] = TRANSFER_SIZES,
) -> tuple[Belief, Belief]:
    records = [transfer("h2d", size, [time(size)] * 3) for size in sizes]
    return line(dataset([machine(), *records]).transfers, least, most)


def straight(size: float) -> float:
    return 1e-5 + size / 1e9


@pytest.mark.parametrize(
    ("least", "most"),
    [
        (4**5, 4**7),
        (4**7, 4**7),  # one size is taken with a fourth of it
        (1, 1e12),  # what is more than was timed, to the ends of that
    ],
)
def test_a_straight_curve_is_its_latency_and_throughput(least: float, most: float) -> None:
    latency, throughput = believed(straight, least, most)
    assert latency.median == pytest.approx(1e-5, rel=0.02)
    assert throughput.median == pytest.approx(1e9, rel=0.03)
    assert latency.sd < 0.15
    assert throughput.sd < 0.15


def test_a_curve_that_bends_is_the_line_of_the_bytes_that_steps_move() -> None:
    def bent(size: float) -> float:
        return 1e-5 + (size / 1e9 if size <= 4**9 else 4**9 / 1e9 + (size - 4**9) / 1e10)

    latency, throughput = believed(bent, 4**5, 4**9)
    assert (latency.median, throughput.median) == pytest.approx((1e-5, 1e9), rel=0.03)
    latency, throughput = believed(bent, 4**9, 4**13)
    intercept = 1e-5 + 4**9 * (1e-9 - 1e-10)
    assert (latency.median, throughput.median) == pytest.approx((intercept, 1e10), rel=0.03)


@pytest.mark.parametrize("sizes", [[2**30], [2**28, 2**29, 2**30]])
def test_copies_of_a_gigabyte_say_next_to_nothing_of_a_latency(sizes: list[int]) -> None:
    """A single copy of 1 GiB was taken for a latency of 61 ms, with which a forecast of four GPUs
    was 18 times too long."""
    latency, throughput = believed(lambda size: 1e-5 + size / 1.75e10, 648, 2e6, sizes)
    assert latency.median == pytest.approx(LATENCY.median, rel=0.05)
    assert latency.sd == pytest.approx(LATENCY.sd, rel=0.05)
    assert throughput.median == pytest.approx(1.75e10, rel=0.01)
    assert throughput.sd < 0.1


def test_copies_of_a_few_bytes_say_nothing_of_a_throughput() -> None:
    latency, throughput = believed(lambda _: 4e-6, 648, 2e6, [1, 4, 16])
    assert latency.median == pytest.approx(4e-6, rel=0.02)
    assert throughput.median == pytest.approx(THROUGHPUT.median, rel=0.05)
    assert throughput.sd == pytest.approx(THROUGHPUT.sd, rel=0.05)


@pytest.mark.parametrize(("latency", "throughput"), [(8e-2, 1e5), (2e-8, 4e13)])
def test_paths_beyond_what_is_plausible_are_believed(latency: float, throughput: float) -> None:
    beliefs = believed(lambda size: latency + size / throughput, 1e3, 1e7)
    assert [belief.median for belief in beliefs] == pytest.approx([latency, throughput], rel=0.03)


@pytest.mark.parametrize(("size", "seconds"), [(4096, 2e-5), (2**20, 1e-4), (2**22, 3e-4)])
def test_one_size_is_weighed_as_draws_of_what_is_plausible_are(size: int, seconds: float) -> None:
    rng = np.random.default_rng(0)
    logs = [np.log(prior.median) + prior.sd * rng.standard_normal(10**6)
            for prior in (LATENCY, THROUGHPUT)]  # fmt: skip
    off = np.log(np.exp(logs[0]) + size * np.exp(-logs[1])) - np.log(seconds)
    weights = np.exp(-0.5 * (off / 0.05) ** 2)
    for drawn, belief in zip(logs, believed(lambda _: seconds, 1, 1e6, [size]), strict=True):
        mean = np.average(drawn, weights=weights)
        assert np.log(belief.median) == pytest.approx(mean, abs=0.03)
        sd = np.sqrt(np.average((drawn - mean) ** 2, weights=weights))
        assert belief.sd == pytest.approx(sd, rel=0.05)


def test_steps_pay_what_was_timed_alone_within_what_such_programs_do() -> None:
    copies = [transfer("h2d", size, [straight(size)] * 3) for size in TRANSFER_SIZES]
    cells = [step(n, 1, [1e-3]) for n in (64, 65536)]
    beliefs = known_alone(problem_of(dataset([machine(), *cells, *copies, launch(10, [4e-5] * 3)])))
    assert beliefs["t_kernel"] == pytest.approx((4e-6, 0.4))
    assert beliefs["t_queue"] == pytest.approx((8e-6, 0.7))
    assert beliefs["L_h2d"] == pytest.approx((1e-5, 0.5), rel=0.03)
    assert beliefs["B_h2d"] == pytest.approx((1e9, 0.7), rel=0.03)
    assert "L_d2h" not in beliefs


def timed(method: str, seconds: float, **other: object) -> dict[str, object]:
    return launch(1, [seconds] * 3, method=method, **other)


def launches(*records: dict[str, object]) -> list[Launch]:
    return dataset([machine(), *records]).launches


@pytest.mark.parametrize(("submit", "waits"), [(2e-6, False), (4e-6, False), (5.4e-6, True)])
def test_a_path_waits_where_submitting_is_one_of_two_round_trips(
    submit: float, waits: bool
) -> None:
    assert waits_for_calls(launches(timed("submit", submit), timed("sync", 10e-6))) is waits


def test_without_both_ways_of_timing_nothing_is_said() -> None:
    assert waits_for_calls([]) is None
    assert waits_for_calls(launches(timed("submit", 5e-6))) is None
    assert waits_for_calls(launches(timed("sync", 5e-6), timed("gated", 2e-6))) is None


def test_only_launches_of_one_kind_are_compared() -> None:
    unlike = launches(timed("submit", 6e-6, arguments=16), timed("sync", 10e-6, arguments=0))
    assert waits_for_calls(unlike) is None
    first = launches(timed("submit", 6e-6, cold=True), timed("submit", 2e-6), timed("sync", 9e-6))
    assert waits_for_calls(first) is False


@pytest.mark.parametrize("name", ["h200-x2", "h200-x4", "h200-x4-mixed"])
def test_of_the_measured_paths_only_the_synchronous_one_waits(name: str) -> None:
    data = gc.load(name)
    timed = {(launch.machine, launch.path) for launch in data.launches}
    waits = {
        (machine, path): waits_for_calls(data.select(machine=machine, path=path).launches)
        for machine, path in timed
    }
    assert len(waits) >= 3
    assert waits == {(machine, path): path == "remote-sync" for machine, path in waits}


def test_nothing_hides_where_calls_are_waited_for() -> None:
    assert terms_left("star-serial", True) == ["star-serial"]
    assert terms_left("star-async", True) == ["star-async-turns"]


def test_nothing_goes_by_turns_where_they_are_not() -> None:
    assert "star-async-turns" not in terms_left("star-async", False)
    assert terms_left("star-async", False)[0] == "star-async"
    assert "star-serial-poll" in terms_left("star-serial", False)


@pytest.mark.parametrize("schedule", get_args(Schedule))
@pytest.mark.parametrize("waits", [None, False, True])
def test_every_schedule_keeps_a_term(schedule: str, waits: bool | None) -> None:
    left = terms_left(schedule, waits)
    assert left
    assert set(left) <= set(terms_left(schedule, None))


def test_a_fit_of_one_gpu_count_knows_that_gpus_take_turns() -> None:
    steps = [step(n, 1, [1e-4 * n / 1000] * 3, schedule="star-async") for n in (1000, 2000, 4000)]
    slow = [timed("submit", 5.4e-6), timed("sync", 10e-6)]
    quick = [timed("submit", 2e-6), timed("sync", 10e-6)]

    def by_turns(*launched: dict[str, object]) -> float:
        model = gc.fit(dataset([machine(), *steps, *launched]), replicates=0)
        return sum(form.weight for form in model.mixture.forms if form.terms.com.endswith("turns"))

    # One GPU count tells nothing of turns, so that odds of e^4 and of e^-8 stay what they are, but
    # for what the few steps say of launches.
    assert by_turns(*slow) > 0.9
    assert by_turns(*quick) < 0.01
    assert by_turns(*slow) > by_turns() > by_turns(*quick)
