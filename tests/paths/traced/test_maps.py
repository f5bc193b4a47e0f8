"""Maps over round trip and bandwidth: what must come out, by hand, and the figure of them."""

from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, assert_refused, only_json
from gpucast.paths.traced.maps import LEVELS, NetworkMap, network_map
from gpucast.paths.traced.network import Network
from gpucast.show.plots import network_map as figure
from made_traces import MadeTrace

STEPS = 30


@pytest.fixture(scope="module")
def path() -> gc.Dataset:
    return gc.load("h200-traces")


def reading_back(reads: int) -> MadeTrace:
    """A kernel, then so many scalars read back one after another."""
    made = MadeTrace(program="./reads")
    for _ in range(STEPS):
        made.host(10e-6)
        made.launch("kernel", seconds=200e-6, blocks=4096)
        for _ in range(reads):
            made.copy(8, "d2h", seconds=1e-6)
    return made


def sending(size: int) -> MadeTrace:
    made = MadeTrace(program="./sends")
    for _ in range(STEPS):
        made.copy(size, "h2d", memory="pinned", blocking=False, stream=20)
        made.wait_stream(20)
    return made


def made_map(ratios: list[list[float]]) -> NetworkMap:
    """A map of round trips 10, 100, 1000 us and bandwidths of 1, 10, 100 Gb/s."""
    return NetworkMap(
        program="program",
        path="remote",
        native=1e-3,
        round_trips=np.array([1e-5, 1e-4, 1e-3]),
        bandwidths=np.array([1e9, 1e10, 1e11]) / 8,
        ratios=np.array(ratios),
        measured=(1e10, 1.0),
    )


@pytest.mark.parametrize("reads", [1, 4])
def test_each_read_back_pays_each_round_trip(path: gc.Dataset, reads: int) -> None:
    grid = network_map(reading_back(reads).trace(), path, "remote")
    extra = np.diff(grid.ratios[-1]) * grid.native
    assert extra == pytest.approx(reads * np.diff(grid.round_trips), rel=0.05)
    # A few bytes pass through any bandwidth.
    assert np.ptp(grid.ratios, axis=0) == pytest.approx(0, abs=0.02)
    assert "whatever the bandwidth" in grid.sentence


def test_bytes_take_their_time_of_each_bandwidth(path: gc.Dataset) -> None:
    size = 4_000_000
    grid = network_map(sending(size).trace(), path, "remote")
    slow = grid.bandwidths < 1e9
    seconds = grid.ratios[slow, 0] * grid.native
    assert np.diff(seconds) == pytest.approx(np.diff(size / grid.bandwidths[slow]), rel=0.05)


def test_a_named_network_is_a_point_of_the_map(path: gc.Dataset) -> None:
    grid = network_map(reading_back(2).trace(), path, "remote", network=Network(3e9, 100e-6))
    row = [np.interp(100e-6, grid.round_trips, ratios) for ratios in grid.ratios]
    assert grid.asked[1] == pytest.approx(row[-1], rel=0.02)


def test_the_longest_round_trip_of_a_level_lies_where_it_is_crossed() -> None:
    grid = made_map([[2.0, 3.0, 4.0], [1.0, 1.2, 4.0], [1.0, 1.0, 1.0]])
    # Halfway from 10 to 100 us in the logarithm; below the map; beyond it.
    assert grid.up_to(1.1) == pytest.approx([0, np.sqrt(1e-5 * 1e-4), np.inf])


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ([[1.0, 1.0, 1.02]] * 3, "at most 2 % longer than natively over any of these networks"),
        (
            [[1.0, 1.1, 3.0]] * 3,
            "at most 10 % longer than natively up to a round trip of 100 us, "
            "whatever the bandwidth",
        ),
        (
            [[3.0, 3.0, 3.0], [1.3, 1.5, 3.0], [1.3, 1.5, 3.0]],
            "at least 30 % longer than natively everywhere; at most 50 % longer than natively up "
            "to a round trip of 100 us, from 10 Gb/s on",
        ),
        (
            [[3.0, 3.0, 3.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
            "at most 10 % longer than natively from 10 Gb/s on, whatever the round trip",
        ),
    ],
)
def test_the_sentence_says_what_the_map_shows(ratios: list[list[float]], said: str) -> None:
    assert made_map(ratios).sentence == f"program takes {said}"


def test_the_figure_has_a_labelled_line_a_level_and_the_marks(path: gc.Dataset) -> None:
    grid = network_map(reading_back(2).trace(), path, "remote", network=Network(3e9, 100e-6))
    (axes, _) = figure.network_map(grid).axes
    labels = {text.get_text() for text in axes.texts}
    crossed = [level for level in LEVELS if grid.ratios.min() < level < grid.ratios.max()]
    # One that runs through a corner alone has no room for a label.
    assert (
        {f"{level:g}×" for level in crossed[:-1]} <= labels <= {f"{level:g}×" for level in crossed}
    )
    legend = axes.get_legend()
    words = [text.get_text() for text in legend.get_texts()]
    assert words[0].startswith("own network: ")
    assert words[1].startswith("24 Gb/s, 100 us: ")


def test_the_command_writes_the_figure_and_answers_with_the_grid(run: Run, tmp_path: Path) -> None:
    trace, to = reading_back(2).write(tmp_path / "T"), tmp_path / "map.png"
    command = ("what-if", trace, "--path", "remote", "--data", "h200-traces", "--map")
    status, out, _ = run(*command, to)
    assert status == 0
    assert f"written: {to}" in out
    assert to.read_bytes().startswith(b"\x89PNG")
    assert_refused(run(*command, to), "map.png")
    assert_refused(run(*command, tmp_path / "map.txt"), "map.txt")
    answer = only_json(run(*command, to, "--force", "--json")[1])["map"]
    assert answer["program"] == "reads"
    shape = len(answer["bandwidths"]), len(answer["round_trips"])
    assert np.shape(answer["ratios"]) == shape
    assert answer["sentence"] in out
