"""What-if: one path's steps with another path's communication."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.model.fitted import Model
from made_data import (
    NATIVE,
    VIRTUALIZED,
    dataset,
    launch,
    machine,
    microbenchmarks,
    steps,
    steps_alone,
    transfer,
    whole,
)
from synthetic import grid


@pytest.fixture(scope="module")
def native() -> Model:
    return gc.fit(whole(), model="paper", replicates=100)


def far(seed: int = 5, **how: Any) -> list[dict[str, Any]]:
    return microbenchmarks(VIRTUALIZED, np.random.default_rng(seed), path="far", **how)


def made(*records: dict[str, Any]) -> gc.Dataset:
    return dataset([machine(), *records])


def test_it_forecasts_the_other_path(native: Model) -> None:
    """The two truths differ in communication only, so the other path's equations are the oracle."""
    assert (NATIVE.k, NATIVE.t_gpu, NATIVE.t_cpu) == (
        VIRTUALIZED.k, VIRTUALIZED.t_gpu, VIRTUALIZED.t_cpu
    )  # fmt: skip
    remote = gc.what_if(native, made(*far()))
    n, gpus = grid(np.array([500.0, 1000.0, 8000.0, 64000.0, 256000.0]), np.arange(1.0, 9.0), 1)
    forecasts = remote.forecasts(n, gpus)
    assert forecasts.seconds == pytest.approx(VIRTUALIZED.seconds(n, gpus), rel=0.03)
    inside = (forecasts.mean_low <= VIRTUALIZED.seconds(n, gpus)) & (
        VIRTUALIZED.seconds(n, gpus) <= forecasts.mean_high
    )
    assert inside.mean() > 0.8
    # The native model is far off there, so this tests something.
    assert native.forecasts([1000.0], [8.0]).seconds[0] < 0.5 * forecasts.seconds[(n == 1000)][-1]


def test_computation_is_kept_and_communication_replaced(native: Model) -> None:
    remote = gc.what_if(native, made(*far()))
    for name in ("t_gpu", "t_cpu"):
        assert remote.parameter(name) == native.parameter(name)
    for name in ("t_kernel", "L_h2d", "B_h2d", "L_d2h", "B_d2h"):
        assert remote.parameter(name) == pytest.approx(getattr(VIRTUALIZED, name), rel=0.05)
    assert remote.content["data"]["what_if"]["path"] == "far"
    assert remote.content["data"]["path"] == "native"


def test_auto_measures_launches_where_it_can_and_else_keeps_them_with_a_warning(
    native: Model,
) -> None:
    with_launches = gc.what_if(native, made(*far()))
    assert with_launches.content["data"]["what_if"]["launch"] == "measured"
    without = gc.what_if(native, made(*far(launches=False)))
    assert without.parameter("t_kernel") == native.parameter("t_kernel")
    assert any("t_kernel is kept" in text for text in without.warnings)
    assert not any("t_kernel is kept" in text for text in with_launches.warnings)


def test_measured_launches_that_are_not_there_are_refused(native: Model) -> None:
    with pytest.raises(gc.InputError, match="'far' has no launch records"):
        gc.what_if(native, made(*far(launches=False)), launch="measured")


def test_an_unknown_source_of_launches_is_refused(native: Model) -> None:
    with pytest.raises(gc.InputError, match="'guess' is none of auto, measured, keep, scale"):
        gc.what_if(native, made(*far()), launch="guess")


def test_a_missing_route_is_refused(native: Model) -> None:
    with pytest.raises(gc.InputError, match="'far' has no d2h transfers, which star-serial"):
        gc.what_if(native, made(*far(routes=("h2d",))))
    with pytest.raises(gc.InputError, match=r"no .* transfers, which star-serial needs"):
        gc.what_if(native, made(launch(1, [1e-5] * 3)))


@pytest.mark.parametrize("sizes", [(1024,), (1024, 2048)])
def test_too_few_sizes_of_a_route_are_refused(native: Model, sizes: tuple[int, ...]) -> None:
    few = [
        transfer(route, size, [1e-5 + size / 1e9] * 3, path="far")
        for route in ("h2d", "d2h")
        for size in sizes
    ]
    with pytest.raises(gc.InputError, match=rf"{len(sizes)} size\(s\)"):
        gc.what_if(native, made(*few))


def test_a_model_that_mixes_communication_with_computation_is_refused() -> None:
    alone = gc.fit(steps_alone(), model="paper", replicates=0)
    with pytest.raises(gc.InputError, match=r"know only t_cpu \+ 12/B_d2h"):
        gc.what_if(alone, made(*far()))


def test_several_paths_are_listed_and_steps_of_the_other_path_not_looked_at(
    native: Model,
) -> None:
    slow = steps(lambda n, gpus: 100 * NATIVE.seconds(n, gpus), np.random.default_rng(0))
    both = made(*far(), *microbenchmarks(NATIVE, np.random.default_rng(0)), *slow)
    with pytest.raises(gc.InputError, match="path: there are several: far, native"):
        gc.what_if(native, both)
    chosen = gc.what_if(native, both, path="far")
    assert chosen.parameter("L_h2d") == gc.what_if(native, made(*far())).parameter("L_h2d")
    with pytest.raises(gc.InputError, match="there are no transfers"):
        gc.what_if(native, steps_alone())


def test_the_model_given_is_not_changed(native: Model) -> None:
    before = native.forecast(1000, [1, 8])
    gc.what_if(native, made(*far()), launch="scale")
    assert native.forecast(1000, [1, 8]).equals(before)


def test_without_replicates_it_works_as_well(native: Model) -> None:
    bare = gc.fit(whole(), model="paper", replicates=0)
    remote = gc.what_if(bare, made(*far()))
    assert remote.integers == []
    assert remote.parameter("L_h2d") == pytest.approx(VIRTUALIZED.L_h2d, rel=0.05)


def test_it_is_saved_and_validated_against_its_own_path(native: Model, tmp_path: Path) -> None:
    remote = gc.what_if(native, made(*far()))
    remote.save(tmp_path / "remote.json")
    again = gc.load_model(tmp_path / "remote.json")
    assert np.array_equal(
        again.forecast(1000, [1, 8]).seconds, remote.forecast(1000, [1, 8]).seconds
    )
    measured = steps(VIRTUALIZED.seconds, np.random.default_rng(8), path="far")
    wrong = steps(NATIVE.seconds, np.random.default_rng(8))
    result = gc.validate(again, made(*wrong, *measured))
    assert result["median_relative_error"] < 0.03


def test_the_published_ethernet_from_infiniband() -> None:
    """DS-CUDA: InfiniBand's steps with Ethernet's transfers and launches that scale with latency
    come nearer to Ethernet's own steps than launches kept do."""
    data = gc.load("dscuda")
    infiniband = gc.fit(data, path="infiniband", model="paper", replicates=50)
    errors = {
        how: gc.validate(
            gc.what_if(infiniband, data, path="ethernet100", launch=how),
            data,
            path="ethernet100",
        )["median_relative_error"]
        for how in ("keep", "scale")
    }
    assert errors["scale"] < errors["keep"]
