"""Iso-efficiency and break-even sizes: against scans of every n."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucast as gc
from gpucast.answers.planning import isoefficiency
from gpucast.answers.planning.isoefficiency import FIRST, from_n_on
from gpucast.answers.planning.replicates import Exact
from gpucast.errors import InputError
from planning_samples import machine, models, native, only_native, remote, values

COUNTS = np.array([2.0, 3.0, 4.0, 8.0])


def last_failure_plus_one(holds: np.ndarray, n: np.ndarray) -> float:
    failing = np.flatnonzero(~holds)
    if not failing.size:
        return float(n[0])
    return math.inf if failing[-1] == n.size - 1 else float(n[failing[-1] + 1])


@settings(max_examples=200, deadline=None)
@given(
    rows=st.integers(1, FIRST).flatmap(
        lambda size: st.lists(
            st.lists(st.booleans(), min_size=size + 1, max_size=size + 1), min_size=1, max_size=4
        )
    ),
    low=st.integers(1, 1000),
)
def test_up_to_129_sizes_any_pattern_is_found(rows: list[list[bool]], low: int) -> None:
    pattern = np.array(rows)[:, :FIRST]
    n = low + np.arange(pattern.shape[1], dtype=float)
    if n.size < 2:
        return
    crossings = from_n_on(
        lambda sizes: np.take_along_axis(pattern, (sizes - low).astype(int), axis=1),
        len(rows),
        n[0],
        n[-1],
    )
    assert list(crossings) == [last_failure_plus_one(row, n) for row in pattern]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=5))
def test_a_single_crossing_is_found_exactly(crossings: list[int]) -> None:
    wanted = np.array(crossings, dtype=float)
    located = from_n_on(lambda n: n >= wanted[:, np.newaxis], len(crossings), 1.0, 1e9)
    assert list(located) == crossings


def test_never_and_always() -> None:
    none = from_n_on(lambda n: np.zeros(n.shape, bool), 2, 10.0, 1e6)
    every = from_n_on(lambda n: np.ones(n.shape, bool), 2, 10.0, 1e6)
    assert list(none) == [math.inf, math.inf]
    assert list(every) == [10.0, 10.0]


def test_iso_efficiency_sizes_are_those_of_a_scan() -> None:
    n = np.arange(1000.0, 640_001.0)
    exact = Exact(native())
    answered = isoefficiency.iso_efficiency(native(), 0.8, COUNTS)
    one = exact.seconds(n, np.ones(n.size))
    for i, count in enumerate(COUNTS):
        holds = one >= 0.8 * count * exact.seconds(n, np.full(n.size, count))
        wanted = last_failure_plus_one(holds, n)
        # Times of whole waves make the efficiency a saw; its last tooth may be overlooked.
        assert answered.n[i] == pytest.approx(wanted, rel=0.06)
        assert not holds[n == answered.n[i] - 1].any()
        assert holds[n == answered.n[i]].all()
    assert answered.range == (1000.0, 640_000.0)


def test_break_even_sizes_are_those_of_a_scan() -> None:
    n = np.arange(1000.0, 640_001.0)
    a, b = Exact(native()), Exact(remote())
    for surcharge in (0.05, 0.5):
        answered = isoefficiency.break_even(native(), remote(), surcharge, COUNTS)
        for i, count in enumerate(COUNTS):
            gpus = np.full(n.size, count)
            holds = b.seconds(n, gpus) / a.seconds(n, gpus) - 1 < surcharge
            assert answered.n[i] == pytest.approx(last_failure_plus_one(holds, n), rel=0.06)


def test_intervals_are_order_statistics_of_the_sizes_of_each_replicate() -> None:
    n = np.arange(4000.0, 40_000.0)
    answered = isoefficiency.break_even(native(), remote(), 0.5, COUNTS[:1], (n[0], n[-1]))
    a, b, gpus = Exact(native()), Exact(remote()), np.full(n.size, 2.0)
    by_replicate = [
        last_failure_plus_one(b.seconds(n, gpus, r) < 1.5 * a.seconds(n, gpus, r), n)
        for r in range(30)
    ]
    low, high = np.quantile(by_replicate, [0.05, 0.95], method="nearest")
    assert answered.low[0] == pytest.approx(low, rel=0.02)
    assert answered.high[0] == pytest.approx(high, rel=0.02)
    assert answered.reached[0] == np.mean(np.isfinite(by_replicate))
    assert answered.low[0] < answered.high[0]


def test_one_gpu_is_always_efficient_and_a_model_beside_itself_breaks_even() -> None:
    alone = isoefficiency.iso_efficiency(native(), 0.99, np.array([1.0]))
    assert list(alone.n) == [1000.0]
    same = isoefficiency.break_even(native(), native(), 0.01, COUNTS)
    assert list(same.n) == [1000.0] * 4
    assert list(same.low) == list(same.high) == [1000.0] * 4


def test_what_is_never_reached_is_said_so() -> None:
    plan = gc.plan(
        {
            "machines": [machine(), machine("remote")],
            "iso_efficiency": 0.999,
            "break_even": 0.001,
            "sizes": [1000, 2000],
        },
        models(),
    ).content
    size = plan["iso_efficiency"]["machines"][0]["sizes"][0]
    assert (size["gpus"], size["n"], size["low"], size["high"]) == (2, None, None, None)
    assert (size["reached"], size["probability_reached"]) == ("never", 0.0)
    (remote_sizes,) = plan["break_even"]["machines"]
    assert remote_sizes["machine"] == "remote"
    assert {size["reached"] for size in remote_sizes["sizes"]} == {"never"}


def test_of_many_counts_powers_of_two_and_the_last_are_told() -> None:
    plan = gc.plan({"machines": [machine(gpus=20)], "iso_efficiency": 0.5}, only_native()).content
    sizes = plan["iso_efficiency"]["machines"][0]["sizes"]
    assert [row["gpus"] for row in sizes] == [2, 4, 8, 16, 20]
    assert plan["jobs"] == []


def test_sizes_fitted_that_do_not_meet_are_refused() -> None:
    far = models()
    far["remote"].domain = replace(far["remote"].domain, n=(10**8, 10**9))
    with pytest.raises(InputError, match=r"^sizes: .*do not overlap"):
        gc.plan({**values(), "break_even": 0.1}, far)
