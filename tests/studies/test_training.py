"""Made training programs, and the law that forecasts of them are held against."""

import numpy as np
import pandas as pd
import pytest

import training
from lab.forecasters.rivals.laws import ring


def test_the_rival_finds_its_own_law() -> None:
    n, gpus = np.repeat([64.0, 256.0], 7), np.tile(np.array(training.COUNTS, dtype=float), 2)
    seconds = 0.01 + 2e-4 * n / gpus + 0.03 * (gpus - 1) / gpus
    cells = pd.DataFrame({"n": n, "gpus": gpus, "seconds": seconds})
    asked = cells[cells.gpus > 8]
    forecast = ring(cells[cells.gpus <= 8], asked).seconds.to_numpy()
    assert forecast == pytest.approx(asked.seconds.to_numpy(), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slow", [False, True])
def test_exchange_shows_where_there_are_several_gpus_and_more_beyond_a_node(
    seed: int, slow: bool
) -> None:
    seconds, _ = training.program(np.random.default_rng(seed), overlap=False, slow=slow)
    of_counts = [seconds(32, gpus) for gpus in training.COUNTS]
    assert (np.diff(of_counts) > 0).all()
    # What a node of 8 pays for the ring, against 16 on the network.
    assert of_counts[4] - of_counts[0] > 1.4 * (of_counts[3] - of_counts[0])


def test_measured_rings_move_twice_all_bytes_but_a_gpus_own() -> None:
    _, exchange = training.program(np.random.default_rng(3), overlap=False, slow=True)
    measured = list(exchange.measured(np.random.default_rng(1)))
    seconds = {step.gpus: step.seconds[0] for step in measured if step.n == 2**30}
    assert seconds[8] / seconds[2] == pytest.approx((7 / 8) / (1 / 2), rel=0.15)
    assert seconds[64] / seconds[16] == pytest.approx((63 / 64) / (15 / 16), rel=0.15)
    assert seconds[16] > 8 * seconds[8]  # a slow network has at most a tenth of the bandwidth


def test_a_batch_of_each_gpu_grows_with_the_gpus_and_a_fixed_one_does_not() -> None:
    grown, _ = training.steps(0, weak=True, overlap=True, slow=False)
    fixed, _ = training.steps(0, weak=False, overlap=True, slow=False)
    assert (grown.n / grown.gpus == 32).all()
    assert (fixed.n == 32 * 16).all()
