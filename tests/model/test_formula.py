"""Step times of parameters that are given: the paper's equations, written down a second time."""

from dataclasses import asdict

import numpy as np
import pytest

import gpucast as gc
from synthetic import GPU_GRID, N_GRID, TRUTHS


@pytest.mark.parametrize("name", TRUTHS)
def test_times_are_those_of_the_papers_equations(name: str) -> None:
    truth = TRUTHS[name]
    parameters = asdict(truth)
    k, cores = parameters.pop("k"), parameters.pop("c")
    table = gc.step_times("wave+linear+star-serial", parameters, N_GRID, GPU_GRID, k=k, cores=cores)
    assert list(table.columns) == ["n", "gpus", "seconds", "t_gpu", "t_cpu", "t_com"]
    assert len(table) == N_GRID.size * GPU_GRID.size
    n, gpus = table.n.to_numpy(float), table.gpus.to_numpy(float)
    for column, expected in zip(("t_gpu", "t_cpu", "t_com"), truth.terms(n, gpus), strict=True):
        # Both round a few sums and products of doubles.
        np.testing.assert_allclose(table[column], expected, rtol=1e-13)
    np.testing.assert_allclose(table.seconds, truth.seconds(n, gpus), rtol=1e-13)


WAVE = {
    "t_gpu": 1e-12,
    "t_cpu": 1e-9,
    "t_kernel": 1e-6,
    "L_h2d": 1e-6,
    "B_h2d": 1e10,
    "L_d2h": 1e-6,
    "B_d2h": 1e10,
}


@pytest.mark.parametrize(
    ("terms", "change", "given", "said"),
    [
        ("wave+linear", {}, {"cores": 10}, "'wave[+]linear' is not GPU[+]CPU[+]COM"),
        ("waves+linear+star-serial", {}, {"cores": 10}, "'waves' is none of .*wave"),
        ("wave+linear+star-serial", {}, {}, "cores"),
        ("wave+linear+star-serial", {"t_gpu": None}, {"cores": 10}, "missing: t_gpu"),
        ("wave+linear+star-serial", {"t_gup": 1.0}, {"cores": 10}, "unknown: t_gup"),
        ("wave+linear+star-serial", {"t_gpu": np.nan}, {"cores": 10}, "not finite"),
        ("wave+linear+star-serial", {}, {"cores": 10, "k": 0}, "at least 1"),
        ("wave+linear+star-serial", {}, {"cores": 10, "n": [0.0]}, "n: .*greater than 0"),
        ("wave+linear+star-serial", {}, {"cores": 10, "gpus": [1.5]}, "gpus: .*whole number"),
    ],
)
def test_what_is_wrong_is_said(
    terms: str, change: dict[str, float | None], given: dict[str, object], said: str
) -> None:
    parameters = {k: v for k, v in {**WAVE, **change}.items() if v is not None}
    with pytest.raises(gc.InputError, match=said):
        gc.step_times(terms, parameters, **{"n": [1000], "gpus": [1], **given})
