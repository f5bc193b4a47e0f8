"""The fit agrees with scipy's least_squares on the same robust problem."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import synthetic
from gpucast import _core
from gpucast.data.vocabulary import ObservationKind
from synthetic import GPU_GRID, N_GRID, TRUTHS, Truth

TUKEY_C = 4.685
SIZES = 2.0 ** np.arange(6, 27, 2)
COUNTS = np.array([1.0, 16.0, 256.0])
STEP, TRANSFER, LAUNCH = ObservationKind.step, ObservationKind.transfer, ObservationKind.launch


def tukey(z: np.ndarray) -> np.ndarray:
    """rho, rho', rho'' of squared residuals z, as scipy wants a loss (cost = sum rho / 2)."""
    t = np.minimum(z / TUKEY_C**2, 1.0)
    inside = z < TUKEY_C**2
    return np.array(
        [
            TUKEY_C**2 / 3 * (1 - (1 - t) ** 3),
            np.where(inside, (1 - t) ** 2, 0.0),
            np.where(inside, -2 / TUKEY_C**2 * (1 - t), 0.0),
        ]
    )


@pytest.mark.parametrize("name", list(TRUTHS))
@pytest.mark.parametrize("outliers", [0.0, 0.08])
def test_a_joint_fit_agrees_with_scipy_to_a_millionth(name: str, outliers: float) -> None:
    truth = TRUTHS[name]
    rng = np.random.default_rng(7)
    n, gpus = synthetic.grid(N_GRID, GPU_GRID, 5)
    steps = synthetic.noisy(truth.seconds(n, gpus), rng, outliers=outliers)
    size = np.repeat(SIZES, 5)
    up = synthetic.noisy(synthetic.transfer_seconds(truth, "h2d", size), rng, outliers=outliers)
    down = synthetic.noisy(synthetic.transfer_seconds(truth, "d2h", size), rng, outliers=outliers)
    count = np.repeat(COUNTS, 5)
    launches = synthetic.noisy(truth.t_kernel * count, rng, outliers=outliers)

    parts = [len(steps), len(up), len(down), len(launches)]

    def columns(*values: object) -> np.ndarray:
        return np.concatenate(
            [np.broadcast_to(v, p) for v, p in zip(values, parts, strict=True)]
        ).astype(float)

    seconds = np.concatenate([steps, up, down, launches])
    observations = _core.Observations(
        columns(STEP, TRANSFER, TRANSFER, LAUNCH).astype(np.uint8),
        columns(0, 0, 1, 0).astype(np.uint8),
        columns(n, 0, 0, 0),
        columns(gpus, 0, 0, 0),
        columns(0, size, size, 0),
        columns(0, 0, 0, count),
        np.zeros(len(seconds)),
        seconds,
        np.zeros(len(seconds)),
    )
    model = _core.Model("wave", "linear", "star-serial", cores=truth.c)
    fitted = _core.fit(model, observations, _core.default_integers(model, 16))
    assert fitted.model.integer == truth.k
    assert fitted.rank == 7

    sigma = columns(*(fitted.noise[group].total for group in ("step", "h2d", "d2h", "launch")))
    names = [parameter for parameter, _, _ in fitted.model.parameters]

    def residuals(logarithms: np.ndarray) -> np.ndarray:
        guess = Truth(
            truth.k, truth.c, **dict(zip(names, np.exp(logarithms).tolist(), strict=True))
        )
        times = np.concatenate(
            [
                guess.seconds(n, gpus),
                synthetic.transfer_seconds(guess, "h2d", size),
                synthetic.transfer_seconds(guess, "d2h", size),
                guess.t_kernel * count,
            ]
        )
        return (np.log(times) - np.log(seconds)) / sigma

    # From the true parameters, not from our answer.
    start = np.log([getattr(truth, parameter) for parameter in names])
    theirs = least_squares(
        residuals, start, loss=tukey, xtol=1e-15, ftol=1e-15, gtol=1e-15, jac="3-point"
    )
    np.testing.assert_allclose(fitted.values, np.exp(theirs.x), rtol=1e-6)
