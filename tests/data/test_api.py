"""``import gpucast as gc``: what notebooks use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpucast as gc
from made_data import NATIVE, whole


def test_every_name_offered_is_there() -> None:
    for name in gc.__all__:
        assert callable(getattr(gc, name)), name
    assert dir(gc) == sorted([*gc.__all__, "figures"])


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'predict'"):
        gc.predict  # noqa: B018


def test_the_way_from_a_file_to_an_answer(tmp_path: Path) -> None:
    whole().dump(tmp_path / "mine.jsonl")
    data = gc.load(tmp_path / "mine.jsonl")
    model = gc.fit(data, path="native")
    frame = model.forecast(n=[1e3, 1e4, 1e5], gpus=range(1, 9))
    assert len(frame) == 24
    assert model.best(n=1e5).gpus[0] in (6, 7, 8)  # two waves each, so that they are equal
    assert model.own_program
    assert isinstance(data, gc.Dataset)
    assert issubclass(gc.InputError, gc.GpucastError)
    assert model.parameter("t_gpu") == pytest.approx(NATIVE.t_gpu, rel=0.05)


def test_bundled_datasets_load_by_name() -> None:
    assert "dscuda" in gc.bundled_files()
    for name in gc.bundled_files():
        assert gc.load(name).records


@pytest.mark.parametrize("path", ["local", "infiniband", "ethernet100"])
def test_the_published_steps_are_fitted_within_a_few_per_cent(path: str) -> None:
    model = gc.fit(gc.load("dscuda"), path=path)
    assert model.content["quality"]["median_relative_error"] < 0.05
    assert any("one GPU count only" in text for text in model.warnings)


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, gpucast; print(sorted({'pandas', 'numpy'} & set(sys.modules)))"
    source = str(Path(gc.__file__).parents[1])
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": source},
    )
    assert shown.stdout == "[]\n"
