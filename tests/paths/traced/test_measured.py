"""Medians of a dataset: as curves over bytes, and of rows of launches."""

import numpy as np
import pytest

from gpucast.paths.traced.measured import alone, curve_of, rested
from made_data import dataset, launch, machine, skeleton, transfer

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
    calls = alone(dataset([machine(), *rows, *copies]), "native")
    assert calls.launch == pytest.approx(3e-6)
    assert (calls.per_launch, calls.first) == pytest.approx((4e-6, 1e-6))
    assert calls.idle is None


def test_steps_tell_what_copies_take_longer_that_have_rested() -> None:
    """A byte takes 0.2 ns each way; 1 MiB and its answer 100 us more behind a kernel of 20 us, and
    300 us more behind one of 2 ms."""
    steps = []
    for side, longer in ((256, {20e-6: 0.0, 2e-3: 0.0}), (MIB, {20e-6: 100e-6, 2e-3: 300e-6})):
        for busy, more in longer.items():
            seconds = 10e-6 + busy + 0.2e-9 * 1.75 * side + more
            steps.append(skeleton("star-serial", side / 16, 1, busy, [seconds] * 5, path="remote"))

    def copies(up: float, down: float) -> float:
        return 0.2e-9 * (up + down)

    rest = rested(dataset([machine(), *steps]), "remote", copies)
    rests, more = rest.at(np.array([1.0, MIB]))
    assert more[0] == pytest.approx(0, abs=1e-12)
    assert rests[1, 0] == 0
    assert more[1] == pytest.approx([0, 50e-6, 150e-6], rel=0.01)
    # A step without one of the two copies, and what the host does between two.
    half = 0.2e-9 * 1.75 * MIB / 2 + 20e-6 + 0.25e-9 * 0.75 * MIB
    assert rests[1, 1:] == pytest.approx([130e-6 + half, 2310e-6 + half], rel=0.01)
    assert rested(dataset([machine()]), "remote", copies) is None
