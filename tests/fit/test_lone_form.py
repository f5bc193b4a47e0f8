"""Names of forms of traces of one GPU count: what such traces tell of."""

from __future__ import annotations

import pytest

from gpucast import _core
from gpucast.model.lone_count import name_with


@pytest.mark.parametrize(
    ("form", "gpus", "name"),
    [
        ("work + start + shell + several + reduction, work ~ n^p", 1, "work + start, work ~ n^p"),
        ("work + start + halo, hidden in part", 1, "work + start"),
        ("work + filling + ring, filled slowly", 1, "work + filling, filled slowly"),
        # Surfaces grow with n on two GPUs, too; a constant is a constant.
        ("work + start + shell + several + ring, hidden", 2, "work + start + shell, hidden"),
        ("work + start + several", None, "work + start + several"),
        ("several", 1, "several"),
    ],
)
def test_terms_that_one_count_does_not_tell_are_left_out(
    form: str, gpus: int | None, name: str
) -> None:
    assert name_with(form, gpus) == name


@pytest.mark.parametrize("term", list(_core.SCALING_TERMS))
def test_of_one_gpu_those_are_left_that_are_something_there(term: str) -> None:
    shape = _core.scaling_shape(term, 1000.0, 1.0)
    assert name_with(f"start + {term}", 1) == (f"start + {term}" if shape > 0 else "start")
