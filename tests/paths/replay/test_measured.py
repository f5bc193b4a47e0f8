"""Medians of a dataset as curves, and by how much visits differ."""

from __future__ import annotations

import numpy as np
import pytest

from gpucast.paths.replay.measured import curve_of, visits_differ
from made_data import dataset, launch, machine, transfer

MIB = 1 << 20


def test_copies_beyond_a_message_may_be_faster() -> None:
    """1 MiB within a message takes 300 us, 2 MiB in pieces 140: each way has its own curve."""
    took = {4: 5e-6, MIB // 2: 150e-6, MIB: 300e-6, 2 * MIB: 140e-6, 4 * MIB: 260e-6}
    records = [
        transfer("d2h", size, [each] * 5, path="remote", method="call")
        for size, each in took.items()
    ]
    data = dataset([machine(), *records])
    curve = curve_of(data, "remote", "d2h", "pinned", inline_bytes=MIB)
    assert curve is not None
    sizes = np.array(list(took), float)
    assert curve.at(sizes) == pytest.approx(list(took.values()))
    # Just beyond a message: as the smallest of the other way, not between the two.
    assert curve.at(np.array([MIB + 1.0])) == pytest.approx([140e-6])
    # Six MiB: by the slope of 2 to 4.
    assert curve.at(np.array([6.0 * MIB])) == pytest.approx([380e-6])


def test_visits_differ_by_the_deviation_of_their_medians() -> None:
    """Twice 10 per cent apart: ln 1.1 / sqrt 2; what was measured once says nothing."""
    records = [
        launch(1, [3e-6] * 5, path="remote"),
        launch(1, [3.3e-6] * 5, path="remote"),
        launch(16, [1e-3] * 5, path="remote"),
    ]
    data = dataset([machine(), *records])
    assert visits_differ(data.launches, "remote") == pytest.approx(np.log(1.1) / np.sqrt(2))
    assert visits_differ(data.launches, "native") == 0
