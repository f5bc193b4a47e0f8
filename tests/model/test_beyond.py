"""What is said of more GPUs than were measured: nothing there is certain."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpucast as gc
from gpucast import _core
from gpucast.answers.advice import for_question, in_words
from gpucast.answers.caveats import caveats
from gpucast.measure.design.next_cells import Ask
from gpucast.model.fitted import Model
from gpucast.show.report.content import content

Truth = Callable[[np.ndarray, np.ndarray], np.ndarray]


def measured(
    truth: Truth, sizes: list[float], counts: list[int], noise: float = 0.01, seed: int = 0
) -> Model:
    """Fitted to one sample of each cell."""
    n, gpus = np.repeat(np.array(sizes), len(counts)), np.tile(np.array(counts), len(sizes))
    off = noise * np.random.default_rng(seed).standard_normal(n.size)
    seconds = truth(n, gpus.astype(float)) * np.exp(off)
    model = gc.fit(pd.DataFrame({"n": n, "gpus": gpus, "seconds": seconds}))
    assert model.scaling is not None
    return model


def hidden_ring(n: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """Training whose all-reduce shows beyond 44 GPUs: 64 are the fastest, 128 slower."""
    computing = 12.0 * n / 1e4 / gpus
    ring = 0.09 + 0.0014 * (gpus - 1)
    return 0.01 + computing + np.maximum(0, ring - 0.55 * computing)


def two_boxes(n: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """Boxes of 4 GPUs; a step on more pays for the network."""
    share = n / gpus
    halo = np.where(gpus > 1, 20e-9 * share ** (2 / 3), 0.0)
    return 0.4e-3 + 6e-9 * share + halo + 0.03e-3 * np.log2(gpus) + 0.6e-3 * (gpus > 4)


def ring(n: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """Messages that grow with the GPUs in number."""
    return 0.15e-3 + 4e-9 * n / gpus + 24e-6 * (gpus - 1)


@given(
    least=st.floats(1, 100),
    span=st.floats(1, 100),
    further=st.floats(1.01, 50),
    slope=st.floats(-1.5, 1.5),
    seed=st.integers(0, 9),
)
def test_beyond_the_counts_measured_slopes_are_those_of_programs(
    least: float, span: float, further: float, slope: float, seed: int
) -> None:
    """From a break on, ln T changes by -1 to 2/3 a unit of ln N, or by as much as the law does."""
    largest = least * span
    counts = np.array([least, largest, largest * further, largest * further**2])
    added = _core.Beyond(least, largest).draws(counts, np.full(4, slope), 200, seed)
    assert (added[:, :2] == 0).all()
    from_law = np.diff(added[:, 2:], axis=1)[:, 0] / np.log(further)
    assert (from_law >= min(-1.0, slope) - slope - 1e-9).all()
    assert (from_law <= max(2 / 3, slope) - slope + 1e-9).all()


def test_breaks_lengthen_steps_that_scale_and_shorten_those_that_grow() -> None:
    beyond = _core.Beyond(1, 8)
    for slope, sign in ((-1.0, 1), (1.0, -1)):
        added = sign * beyond.draws(np.array([64.0]), np.array([slope]), 500, 1)
        assert (added >= 0).all()
        assert (added > 0).any()


def test_a_break_is_as_probable_as_the_rule_of_succession_says() -> None:
    at, slope = np.array([np.e**4]), np.array([-1.0])
    draws = _core.Beyond(1, np.e**2).draws(at, slope, 40_000, 1)[:, 0]
    assert np.mean(draws > 0) == pytest.approx(2 / (1 + 2 + 2), abs=0.01)
    assert _core.Beyond(1, np.e**2).variance(at, slope)[0] == pytest.approx(
        np.mean(draws**2), rel=0.03
    )


@pytest.mark.parametrize(
    ("nodes", "jumps"), [([], True), ([1, 1, 1, 1], True), ([1, 1, 2, 4], False)]
)
def test_another_node_that_was_never_reached_widens_the_interval(
    nodes: list[int], jumps: bool
) -> None:
    counts = np.array([1, 2, 4, 8])
    table = pd.DataFrame({"n": 1e6, "gpus": counts, "seconds": 1e-3 + 1e-8 * 1e6 / counts})
    if nodes:
        table["nodes"] = nodes
    model = gc.fit(table)
    forecasts = model.forecasts([1e6], [16])
    assert (np.log(forecasts.high[0] / forecasts.low[0]) > 1.6) == jumps


def test_intervals_beyond_the_data_are_those_of_the_draws() -> None:
    model = measured(ring, [5e4, 1e5, 2e5], [1, 2, 4, 8])
    for gpus in (8, 16, 32, 128):
        forecasts = model.forecasts([1e5], [gpus])
        drawn = model.draws(np.array([1e5]), np.array([float(gpus)]), 100_000)[:, 0]
        low, high = np.quantile(drawn, [0.05, 0.95])
        assert forecasts.mean_low[0] == pytest.approx(low, rel=0.03)
        assert forecasts.mean_high[0] == pytest.approx(high, rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_a_best_count_beyond_twice_the_data_is_not_certain(seed: int) -> None:
    """Computation hides the all-reduce on all counts measured, so that no fit can know of it."""
    model = measured(hidden_ring, [1e4], [8, 16, 32], seed=seed)
    [best] = model.best_counts([1e4], [8, 16, 32, 64, 128])
    probability = best["probability"]
    assert best["gpus"] == 64 or probability < 0.9
    forecasts = model.forecasts([1e4], [128])
    assert (
        forecasts.low[0] <= hidden_ring(np.array([1e4]), np.array([128.0]))[0] <= forecasts.high[0]
    )


def test_what_nobody_can_know_is_not_said_to_need_no_measuring() -> None:
    model = measured(hidden_ring, [1e4], [8, 16, 32])
    ask = Ask.best_count([1e4], [8, 16, 32, 64, 128])
    advice = for_question(model, ask)
    assert advice.before > 0.01
    assert "as good as certain" not in in_words(ask, advice)


def test_a_page_states_the_probabilities_that_predict_states() -> None:
    """Among counts so close that noise turns their order, the measured times choose, and are what
    probabilities are of."""

    def flat(n: np.ndarray, gpus: np.ndarray) -> np.ndarray:
        return 1e-8 * n * (1 + 0.17 * (gpus - 2.5) ** 2)

    model = measured(flat, [1e5, 4e5], [1, 2, 3, 4], noise=0.06, seed=4)
    counts = [1, 2, 3, 4, 8]
    page = content([model], sizes=[1e5, 4e5], gpus=counts)
    sizes, shares = page["n"]["values"], page["models"][0]["shares"]
    for most in range(2, 6):
        for best in model.best_counts([1e5, 4e5], counts[:most]):
            of_page = shares[most - 1][sizes.index(best["n"])][counts.index(best["gpus"])]
            assert of_page == pytest.approx(best["probability"], abs=6e-4)


SMALL = [5e4, 1e5, 2e5]


@pytest.mark.parametrize("seed", range(4))
def test_a_rise_where_all_else_falls_may_be_another_node(seed: int) -> None:
    model = measured(two_boxes, SMALL, [1, 2, 4, 8], seed=seed)
    [asked] = [text for text in model.warnings if "another node?" in text]
    assert "longer on 8 GPUs than on 4" in asked
    assert "nodes" in asked
    for best in model.best_counts([4e5, 8e5], [1, 2, 4, 8]):
        truth = two_boxes(np.full(4, best["n"]), np.array([1.0, 2.0, 4.0, 8.0]))
        right = truth[[1, 2, 4, 8].index(best["gpus"])] <= 1.01 * truth.min()
        assert right or (best["probability"] or 0) <= 0.7
    n, gpus = np.array([2e5, 4e5, 8e5, 4e5, 8e5]), np.array([16.0, 8.0, 8.0, 16.0, 32.0])
    forecasts = model.forecasts(n, gpus)
    truth = two_boxes(n, gpus)
    assert ((forecasts.low <= truth) & (truth <= forecasts.high)).all()


def weak(n: float, gpus: int, slower: float) -> float:
    """Work and an all-reduce, which takes so many times as long beyond a node of 8."""
    factor = slower if gpus > 8 else 1.0
    return 0.004 + 1e-6 * n / gpus + factor * 0.04 * (gpus - 1) / gpus


@pytest.mark.parametrize(("slower", "asked"), [(1.0, False), (4.0, True)])
def test_a_rise_of_weak_scaling_at_one_count_may_be_another_node(
    slower: float, asked: bool
) -> None:
    cells = [(size * gpus, gpus) for size in (1e5, 3e5) for gpus in (1, 2, 4, 8, 16)]
    model = gc.fit(
        pd.DataFrame({"n": n, "gpus": gpus, "seconds": weak(n, gpus, slower)} for n, gpus in cells)
    )
    questions = [text for text in model.warnings if "another node?" in text]
    assert len(questions) == asked
    assert all("a GPU takes longer on 16 GPUs than on 8" in text for text in questions)
    forecast = model.forecasts([3e5 * 64], [64])
    assert forecast.low[0] <= weak(3e5 * 64, 64, slower) <= forecast.high[0]


def test_a_suspected_node_is_asked_about_beside_answers_that_need_it_alone() -> None:
    model = measured(two_boxes, SMALL, [1, 2, 4, 8])

    def said(gpus: float) -> list[str]:
        return [
            text for text in caveats(model, np.array([2e5]), np.array([gpus])) if "node" in text
        ]

    assert said(4) == []
    [text] = said(16)
    assert "beyond 4 GPUs steps took longer" in text


@pytest.mark.parametrize(
    ("truth", "counts"), [(ring, [1, 2, 4, 8]), (two_boxes, [1, 2, 3, 4])], ids=["ring", "one box"]
)
def test_times_that_fall_raise_no_suspicion(truth: Truth, counts: list[int]) -> None:
    model = measured(truth, [4e5, 8e5], counts)
    assert model.scaling.per_node is None
    assert not [text for text in model.warnings if "node" in text]


@pytest.mark.parametrize("seed", range(3))
def test_a_ring_that_few_gpus_hardly_show_is_within_intervals(seed: int) -> None:
    """On 8 GPUs the messages take a quarter of a step, on 32 half of it and more."""

    def slight_ring(n: np.ndarray, gpus: np.ndarray) -> np.ndarray:
        sent = 2 * (gpus - 1) / gpus * 10e6 / 100e9
        return 0.15e-3 + 4e-9 * n / gpus + sent + 15e-6 * (gpus - 1)

    model = measured(slight_ring, [5e4, 1e5, 2e5], [1, 2, 4, 8], seed=seed)
    n, gpus = np.tile([5e4, 1e5, 2e5], 2), np.repeat([16.0, 32.0], 3)
    forecasts = model.forecasts(n, gpus)
    truth = slight_ring(n, gpus)
    assert ((forecasts.low <= truth) & (truth <= forecasts.high)).all()


def test_what_a_fit_without_the_largest_count_missed_widens_what_lies_beyond() -> None:
    model = measured(
        lambda n, gpus: 1e-9 * n / gpus * np.where(gpus == 8, 0.5, 1), [1e6], [1, 2, 4, 8]
    )
    assert model.scaling.slope_error > 0.2
    sure = measured(lambda n, gpus: 1e-9 * n / gpus, [1e6], [1, 2, 4, 8])
    assert sure.scaling.slope_error < 0.05


def attention(n: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """Work that is linear in n, and quadratic where n is large."""
    return 2e-3 + (4e-5 * n + 2e-9 * n**2) / gpus


@pytest.mark.parametrize("seed", range(4))
def test_larger_sizes_of_work_that_no_power_describes_are_within_intervals(seed: int) -> None:
    model = measured(attention, [1e3, 2e3, 4e3, 8e3, 16e3], [1, 2, 4, 8], seed=seed)
    n, gpus = np.repeat([32e3, 64e3, 128e3], 2), np.tile([1.0, 8.0], 3)
    forecasts = model.forecasts(n, gpus)
    truth = attention(n, gpus)
    assert ((forecasts.low <= truth) & (truth <= forecasts.high)).all()
    drawn = np.quantile(np.log(model.draws(n, gpus, 2000)), (0.05, 0.95), axis=0)
    ends = np.log([forecasts.mean_low, forecasts.mean_high])
    assert np.ptp(drawn, axis=0) == pytest.approx(np.ptp(ends, axis=0), rel=0.2)


def test_what_a_fit_without_the_largest_size_missed_widens_larger_sizes() -> None:
    counts = [1, 2, 4, 8]
    curved = measured(attention, [4e3, 8e3, 16e3], counts)
    straight = measured(lambda n, gpus: 2e-3 + 4e-5 * n / gpus, [4e3, 8e3, 16e3], counts)
    assert curved.scaling is not None
    assert straight.scaling is not None
    assert curved.scaling.size_error > 0.1 > 10 * straight.scaling.size_error
    # Inside the data nothing changes.
    narrow = replace(curved, scaling=replace(curved.scaling, size_error=0.0))
    for n, same in ((8e3, True), (64e3, False)):
        wide, before = (one.forecasts([n], [2.0]).high[0] for one in (curved, narrow))
        assert (wide == before) == same
        assert wide >= before


def test_sizes_that_grow_with_the_counts_tell_nothing_of_larger_sizes() -> None:
    gpus = np.array([32, 64, 128, 256, 512])  # too many for a node
    seconds = 1e-2 * np.array([1, 1.01, 1.02, 1.03, 3])
    model = gc.fit(pd.DataFrame({"n": 1e5 * gpus, "gpus": gpus, "seconds": seconds}))
    assert model.scaling is not None
    assert model.scaling.size_error == 0
    assert model.scaling.slope_error > 0.1
