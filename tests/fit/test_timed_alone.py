"""What copies that were timed alone say of latency and throughput, and what they leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from gpucast import _core
from gpucast.fitting.selection import problem_of
from gpucast.fitting.timed_alone import Belief, known, line
from made_data import TRANSFER_SIZES, dataset, launch, machine, step, transfer

LATENCY, THROUGHPUT = (Belief(*each) for each in _core.TRANSFER_PRIORS)


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
    found = believed(lambda size: latency + size / throughput, 1e3, 1e7)
    assert [each.median for each in found] == pytest.approx([latency, throughput], rel=0.03)


@pytest.mark.parametrize(("size", "seconds"), [(4096, 2e-5), (2**20, 1e-4), (2**22, 3e-4)])
def test_one_size_is_weighed_as_draws_of_what_is_plausible_are(size: int, seconds: float) -> None:
    rng = np.random.default_rng(0)
    logs = [np.log(each.median) + each.sd * rng.standard_normal(10**6)
            for each in (LATENCY, THROUGHPUT)]  # fmt: skip
    off = np.log(np.exp(logs[0]) + size * np.exp(-logs[1])) - np.log(seconds)
    weights = np.exp(-0.5 * (off / 0.05) ** 2)
    for drawn, found in zip(logs, believed(lambda _: seconds, 1, 1e6, [size]), strict=True):
        mean = np.average(drawn, weights=weights)
        assert np.log(found.median) == pytest.approx(mean, abs=0.03)
        sd = np.sqrt(np.average((drawn - mean) ** 2, weights=weights))
        assert found.sd == pytest.approx(sd, rel=0.05)


def test_steps_pay_what_was_timed_alone_within_what_such_programs_do() -> None:
    copies = [transfer("h2d", size, [straight(size)] * 3) for size in TRANSFER_SIZES]
    cells = [step(n, 1, [1e-3]) for n in (64, 65536)]
    found = known(problem_of(dataset([machine(), *cells, *copies, launch(10, [4e-5] * 3)])))
    assert found["t_kernel"] == pytest.approx((4e-6, 0.4))
    assert found["t_queue"] == pytest.approx((8e-6, 0.7))
    assert found["L_h2d"] == pytest.approx((1e-5, 0.5), rel=0.03)
    assert found["B_h2d"] == pytest.approx((1e9, 0.7), rel=0.03)
    assert "L_d2h" not in found
