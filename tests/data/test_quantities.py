"""Quantities as people read them."""

from __future__ import annotations

import pytest

from gpucast.util.units import p_value


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.7234, "p = 0.72"), (1.13e-7, "p = 1.1e-07"), (0.0, "p < 1e-16"), (3e-200, "p < 1e-16")],
)
def test_a_probability_is_never_said_to_be_zero(value: float, text: str) -> None:
    assert p_value(value) == text
