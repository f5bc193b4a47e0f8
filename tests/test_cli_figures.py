"""The command ``gpucast figures transfer``: what it draws and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes

from command_line import Run, assert_refused, files_of, only_json
from gpucast import contention, jsonl, transfer_figures
from gpucast.transfer_series import series_of
from made_data import dataset, machine
from test_contention import four_gpus
from test_documents import series, whole

SIGNATURES = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "d.jsonl"
    file.write_text(jsonl.to_text(dataset([machine(), *whole(), *four_gpus()])._all()))
    return file


def labels(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_a_folder_gets_every_figure_in_every_format(run: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    status, out, err = run("figures", "transfer", data, "-o", folder, "--formats", "png,svg")
    assert (status, err) == (0, "")
    names = ("transfer-time", "transfer-bandwidth", "contention", "launches", "overlap")
    written = files_of(folder)
    assert set(written) >= {f"{name}.{end}" for name in names[:2] for end in ("png", "svg")}
    assert {name.split(".")[0].rstrip("-12") for name in written} == set(names)
    for name, content in written.items():
        assert content.startswith(SIGNATURES[name.split(".")[1]])
    assert out.count("wrote ") == len(written)


def test_a_file_holds_the_one_figure_that_is_named(run: Run, data: Path, tmp_path: Path) -> None:
    target = tmp_path / "one.pdf"
    _, out, _ = run("figures", "transfer", data, "-o", target, "--only", "launches", "--json")
    assert only_json(out)["figures"] == [str(target)]
    assert target.read_bytes().startswith(SIGNATURES["pdf"])
    assert_refused(run("figures", "transfer", data, "-o", target, "--only", "launches"), "--force")
    again = run("figures", "transfer", data, "-o", target, "--only", "overlap", "--force")
    assert again[0] == 0


def test_what_cannot_be_drawn_is_refused_and_nothing_written(
    run: Run, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "f"
    for arguments, said in (
        ((data, "-o", tmp_path / "a.png"), "--only"),
        ((data, "-o", folder, "--formats", "bmp"), "bmp"),
        ((data, "-o", data / "x"), "d.jsonl"),
        (("copy-timed-2012", "-o", folder), "nothing"),
        (("copy-timed-2012", "-o", folder, "--only", "overlap"), "overlap"),
    ):
        assert_refused(run("figures", "transfer", *arguments), said)
    assert set(files_of(tmp_path)) == {"d.jsonl"}
    folder.mkdir()
    (folder / "launches.png").write_text("old")
    assert_refused(run("figures", "transfer", data, "-o", folder), "launches.png")
    assert set(files_of(folder)) == {"launches.png"}


def test_ways_that_take_as_long_are_drawn_once() -> None:
    made = [r for memory in ("pinned", "mapped", "portable")
            for r in series("h2d", memory=memory, method="call")]  # fmt: skip
    slow = [
        {**r, "memory": "pageable", "seconds": [3 * s for s in r["seconds"]]} for r in made[:16]
    ]
    panels = transfer_figures.drawn(series_of(dataset([machine(), *made, *slow])))
    figure = transfer_figures.transfer_times(panels, "title")
    (axes,) = figure.axes
    assert labels(axes) == ["pinned and 2 alike, call", "pageable, call"]


def test_bandwidth_is_bytes_by_time() -> None:
    panels = transfer_figures.drawn(series_of(dataset([machine(), *series("h2d")])))
    (axes,) = transfer_figures.bandwidths(panels, "title").axes
    (points,) = [c for c in axes.containers if c.get_label() == "pinned"]
    x, y = points[0].get_data()
    assert y[-1] == pytest.approx(x[-1] / (1e-5 + x[-1] / 5e10) / 1e9)


def test_the_matrix_shows_the_factors() -> None:
    (found,) = contention.contention(dataset([machine(), *four_gpus()]))
    axes = transfer_figures.contention_matrix(found, "title").axes[0]
    shown = [text.get_text() for text in axes.texts]
    assert shown.count("1.25") == 8
    assert len(shown) == len(found.pairs)
