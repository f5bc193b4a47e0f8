"""What GPU hours cost, bought or rented, and interruptions: against sums made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpucast.answers.planning.tenure import Bought, best_interval, stretch

YEARS_OF_FOUR = {"price_per_gpu": 35_040.0, "lifetime_years": 4.0, "use": 1.0}
"""1.00 an hour: 35,040 over 4 x 8760 hours."""


@pytest.mark.parametrize(
    ("changed", "per_hour"),
    [
        ({}, 1.00),
        ({"use": 0.5}, 2.00),  # each hour of work pays for an idle one
        ({"use": 0.8}, 1.25),
        ({"residual": 0.25}, 0.75),
        ({"lifetime_years": 5.0}, 0.80),
        ({"upkeep_per_gpu_year": 876.0}, 1.10),
        ({"upkeep_per_gpu_year": 876.0, "use": 0.5}, 2.20),
        ({"power": 1000.0, "price_per_kwh": 0.30}, 1.30),
        ({"power": 1000.0, "price_per_kwh": 0.30, "use": 0.5}, 2.30),  # none while idle
        ({"power": 1000.0, "idle_power": 200.0, "price_per_kwh": 0.30}, 1.30),
        # 2.00, 0.30 while working, and 0.06 for the idle hour
        ({"power": 1000.0, "idle_power": 200.0, "price_per_kwh": 0.30, "use": 0.5}, 2.36),
        ({"price_per_gpu": 0.0, "price_per_host": 280_320.0}, 2.00),  # of four GPUs
        ({"price_per_host": 140_160.0}, 2.00),
    ],
)
def test_gpu_hours_of_a_machine_that_is_bought(changed: dict[str, float], per_hour: float) -> None:
    bought = Bought(**{**YEARS_OF_FOUR, **changed})
    assert bought.price_per_gpu_hour(1 / 4) == pytest.approx(per_hour, abs=0.0005)


@pytest.mark.parametrize(
    ("changed", "rent", "hours"),
    [
        ({}, 2.00, 4380),  # 8760 a year for the GPU, at 2.00 an hour
        ({}, 1.00, 8760),
        ({"use": 0.1}, 2.00, 4380),  # independent of how much it is used
        ({"upkeep_per_gpu_year": 876.0}, 2.00, 4818),
        ({"power": 1000.0, "price_per_kwh": 0.25}, 2.00, 5005.71),  # 8760 / 1.75
        # 8760 + 8760 h x 0.05; 0.20 an hour at work besides
        ({"power": 1000.0, "idle_power": 200.0, "price_per_kwh": 0.25}, 2.00, 5110),
        ({"power": 1000.0, "price_per_kwh": 0.25}, 0.25, math.inf),  # energy alone costs more
    ],
)
def test_hours_a_year_from_which_buying_pays(
    changed: dict[str, float], rent: float, hours: float
) -> None:
    bought = Bought(**{**YEARS_OF_FOUR, **changed})
    assert bought.pays_from(np.array(rent), 1 / 4) == pytest.approx(hours, abs=0.01)


def test_at_the_use_from_which_buying_pays_both_cost_as_much() -> None:
    how = {"price_per_gpu": 31_000.0, "lifetime_years": 5.0, "power": 900.0, "idle_power": 150.0}
    bought = Bought(**how, use=1.0, price_per_kwh=0.27, upkeep_per_gpu_year=310.0)
    hours = float(bought.pays_from(np.array(2.1), 0.0))
    same = Bought(**how, use=hours / 8760, price_per_kwh=0.27, upkeep_per_gpu_year=310.0)
    assert same.price_per_gpu_hour(0.0) == pytest.approx(2.1)


@pytest.mark.parametrize(("checkpoint", "between"), [(60.0, 86_400.0), (30.0, 1800.0), (5.0, 60.0)])
def test_no_interval_loses_less_than_the_best_but_for_the_terms_left_out(
    checkpoint: float, between: float
) -> None:
    tried = np.geomspace(checkpoint / 10, 10 * between, 4000)
    least = min(stretch(between, checkpoint, 10.0, float(t))[0] for t in tried)
    assert stretch(between, checkpoint, 10.0, None)[0] == pytest.approx(least, rel=1e-4)
    young = math.sqrt(2 * checkpoint * between)
    assert best_interval(checkpoint, between) == pytest.approx(young, rel=0.25)


def test_work_that_is_interrupted_takes_as_long_as_when_it_is_played_through() -> None:
    """Segments of work and a checkpoint, restarted after each interruption; restarts
    are interrupted, too."""
    between, checkpoint, restart, interval = 1000.0, 20.0, 50.0, 200.0
    draws, segments = np.random.default_rng(1), 20_000
    taken = 0.0
    for _ in range(segments):
        needed = interval + checkpoint
        while (until := draws.exponential(between)) < needed:
            taken += until
            needed = restart + interval + checkpoint
        taken += needed
    longer, checkpoints = stretch(between, checkpoint, restart, interval)
    assert longer == pytest.approx(taken / (segments * interval), rel=0.02)
    assert checkpoints == 0.1


def test_without_interruptions_only_checkpoints_take_time() -> None:
    assert stretch(None, 30.0, 60.0, 600.0) == (1.05, 0.05)
    assert stretch(None, 30.0, 60.0, None) == (1.0, 0.0)


def test_work_within_one_interval_has_no_checkpoint() -> None:
    """3.12 days that 5 days pass between interruptions of take M (exp(W / M) - 1), and restarts."""
    day = 86_400.0
    longer, checkpoints = stretch(5 * day, 1.0, 0.0, 30 * day, 3.12 * day)
    assert longer * 3.12 == pytest.approx(5 * (math.exp(3.12 / 5) - 1))
    assert checkpoints == 0


def test_the_last_piece_of_work_has_no_checkpoint() -> None:
    """Three pieces of ten minutes and one of five: three checkpoints of half a minute."""
    assert stretch(None, 30.0, 60.0, 600.0, 2100.0)[1] == pytest.approx(90 / 2100)
    longer, _ = stretch(1e12, 30.0, 60.0, 600.0, 2100.0)
    assert longer == pytest.approx(2190 / 2100)
