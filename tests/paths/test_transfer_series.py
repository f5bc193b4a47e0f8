"""Ways to move data are told apart, and copies of unaligned sizes have a curve of their own."""

from __future__ import annotations

import numpy as np

from gpucast.paths.curves import fit_transfers
from gpucast.paths.series import fit_series, series_of
from made_data import dataset, machine
from transfer_samples import records, straight, two_kernels


def test_every_way_is_a_series_of_its_own() -> None:
    ends = {"from": "gpu0", "to": "gpu0"}
    data = dataset(
        [
            machine(),
            *records(straight, method="call"),
            *records(straight, method="gated"),
            *records(straight, memory="pageable", method="call"),
            *records(straight, engine="kernel", method="gated"),
            *records(straight, "local", memory="unknown", method="gated", **ends),
            *records(straight, "d2h", concurrent=[{"from": "host", "to": "gpu0"}]),
            *records(straight, "peer", cold=True),
            *records(straight, "staged", valid=False),
        ]
    )
    assert [each.way.label for each in series_of(data)] == [
        "h2d pinned host>gpu0, call",
        "h2d pinned host>gpu0, gated",
        "h2d pageable host>gpu0, call",
        "h2d pinned by a kernel host>gpu0, gated",
        "local gpu0>gpu0, gated",
    ]


def test_repeated_sizes_are_joined_and_sorted() -> None:
    data = dataset([machine(), *records(straight, sizes=[4096, 64, 4096])])
    (series,) = series_of(data)
    assert list(series.samples) == [64, 4096]
    assert len(series.samples[4096]) == 14


def test_copies_of_unaligned_sizes_get_a_curve_where_they_take_longer() -> None:
    ends = {"memory": "unknown", "from": "gpu0", "to": "gpu0"}
    (series,) = series_of(dataset([machine(), *records(two_kernels, "local", **ends)]))
    fit = fit_series(series)
    assert fit.unaligned is not None
    for size in (1000, 1024, 1_000_001, 1 << 20, 99_999_999, 1 << 26):
        (seconds,) = fit.seconds(np.array([float(size)]))
        assert abs(seconds / two_kernels(size) - 1) < 0.05


def test_one_curve_serves_where_alignment_does_not_matter() -> None:
    ends = {"memory": "unknown", "from": "gpu0", "to": "gpu0"}
    for data in (records(straight, "local", **ends), records(straight, "h2d")):
        (series,) = series_of(dataset([machine(), *data]))
        assert fit_series(series).unaligned is None


def test_a_driver_that_changes_its_way_of_copying_makes_a_jump() -> None:
    def seconds(size: int) -> float:
        return 7e-6 + size / 5e9 if size <= 16384 else 7.2e-6 + size / 5.4e10

    (fit,) = fit_transfers(dataset([machine(), *records(seconds)]))
    (jump,) = {point for point in fit.breakpoints if fit.breakpoints.count(point) == 2}
    assert 12287 <= jump <= 16384
    names = list(fit.to_dict()["parameters"])
    assert sum(name.startswith("S_h2d_") for name in names) == 1
    for size in (1000, 10_000, 40_000, 10**6, 10**8):
        assert abs(fit.seconds(np.array([float(size)]))[0] / seconds(size) - 1) < 0.03
