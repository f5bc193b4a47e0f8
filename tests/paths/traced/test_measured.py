"""Medians of a dataset: as curves over bytes, and of rows of launches."""

from __future__ import annotations

import numpy as np
import pytest

from gpucast.paths.traced.measured import alone, curve_of
from made_data import dataset, launch, machine, transfer

MIB = 1 << 20


def test_a_curve_goes_through_what_was_measured() -> None:
    """Also where more bytes take less, as they do over other connections."""
    took = {4: 5e-6, MIB // 2: 150e-6, MIB: 300e-6, 2 * MIB: 140e-6, 4 * MIB: 260e-6}
    records = [
        transfer("d2h", size, [seconds] * 5, path="remote", method="call")
        for size, seconds in took.items()
    ]
    data = dataset([machine(), *records])
    curve = curve_of(data, "remote", "d2h", "pinned")
    assert curve is not None
    assert curve.at(np.array(list(took), float)) == pytest.approx(list(took.values()))
    # Six MiB: by the slope of 2 to 4. One byte: as the smallest.
    assert curve.at(np.array([6.0 * MIB, 1.0])) == pytest.approx([380e-6, 5e-6])
    assert curve_of(data, "remote", "h2d", "pinned") is None


def test_rows_tell_what_a_launch_takes_among_few_and_among_many() -> None:
    """3 us of the host each; the server takes 5 us for the first 16, and 4 for the others."""
    rows = [
        launch(1, [3e-6] * 3), launch(1, [20e-6] * 3, method="sync"),
        launch(16, [48e-6] * 3, method="row"),
        launch(16, [20e-6 + 15 * 5e-6] * 3, method="drain"),
        launch(256, [20e-6 + 15 * 5e-6 + 240 * 4e-6] * 3, method="drain"),
    ]  # fmt: skip
    copies = [
        transfer(route, size, [5e-6] * 3, method="call") for route in ("h2d", "d2h")
        for size in (4, 4096)
    ]  # fmt: skip
    found = alone(dataset([machine(), *rows, *copies]), "native")
    assert found.launch == pytest.approx(3e-6)
    assert (found.each, found.first) == pytest.approx((4e-6, 1e-6))
    assert found.idle is None
