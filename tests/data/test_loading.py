"""Data from any source: records, tables and frames, alone and together."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

import gpucast as gc
from made_data import whole

TABLE = 'atoms,GPUs,ms/step,mood\n"24,000",1,0.31,a\n"24,000",2,0.407,b\n96000,1,0.7,c\n'


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "steps.csv"
    file.write_text(TABLE)
    return file


def test_a_table_is_loaded_as_it_is_read(table: Path) -> None:
    loaded, read = gc.load(table), gc.read(table)
    assert loaded.digest == read.digest
    assert loaded.warnings == []
    assert loaded.understood == [
        f"{table}: 2 sizes, 24000 to 96000 atoms; 1, 2 GPUs; 3 cells, measured once; "
        "a step 310 us to 700 us",
        f"{table}: n from 'atoms', seconds from 'ms/step'",
        f"{table}: 1 column not used: 'mood'",
    ]


def test_tables_and_records_go_together(table: Path, tmp_path: Path) -> None:
    whole().dump(tmp_path / "mine.jsonl")
    (tmp_path / "copies.csv").write_text("bytes,us,route\n64,7,h2d\n")
    data = gc.load(tmp_path / "mine.jsonl", table, tmp_path / "copies.csv")
    assert len(data.steps) == len(whole().steps) + 3
    assert len(data.machines) == len(whole().machines) + 1
    assert [copy.seconds for copy in data.transfers][-1] == [7 / 1e6]
    source = data.machines["imported"].source
    assert source is not None
    assert "steps.csv (sha256" in source
    assert "copies.csv (sha256" in source


def test_machines_of_a_table_are_machines_of_the_dataset() -> None:
    frame = pandas.DataFrame({"n": [1, 1], "gpus": [1, 1], "s": [1.0, 2.0], "machine": ["a", "b"]})
    data = gc.read(frame, cores=100)
    assert list(data.machines) == ["a", "b"]
    gpus = data.machines["b"].gpus
    assert gpus is not None
    assert gpus[0].cores == 100


def test_a_file_in_two_guises_is_warned_of(table: Path, tmp_path: Path) -> None:
    gc.read(table, table).dump(tmp_path / "all.jsonl")
    (warning,) = gc.read(table, table).warnings
    assert "repeat an earlier one" in warning


def test_what_the_table_does_not_say_is_said_beside_it() -> None:
    frame = pandas.DataFrame({"n": [1], "gpus": [1], "ns/day": [86.4]})
    stated = {"program": "P", "case": "C", "unit": "beads"}
    (step,) = gc.read(frame, timestep="2fs", **stated).steps  # type: ignore[arg-type]
    assert (step.program, step.case, step.unit, step.timestep) == ("P", "C", "beads", 2e-15)
    assert step.seconds == [pytest.approx(2e-3, rel=1e-12)]
    with pytest.raises(gc.InputError, match="timestep: '2' is no time step such as 2fs"):
        gc.read(frame, timestep="2")


def test_a_model_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"schema": "gpucast.model/1"}')
    with pytest.raises(gc.InputError, match="is a fitted model, not measurements"):
        gc.load(tmp_path / "m.json")


def test_text_that_is_no_data_is_refused_with_what_would_be(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Dear diary\n")
    with pytest.raises(gc.InputError, match=r"is of no known format; .*--columns"):
        gc.load(tmp_path / "notes.txt")


def test_a_dataset_shows_itself_in_a_few_lines(table: Path) -> None:
    for data in (gc.load("h200-x4"), gc.read(table)):
        assert len(repr(data)) < 1000
        assert len(data._repr_html_()) < 2000
    assert "24000 to 96000 atoms" in repr(gc.read(table))
    assert "&#x27;mood&#x27;" in gc.read(table)._repr_html_()


def test_a_frame_is_fitted_as_the_table_that_it_is() -> None:
    data = whole().select(path="native")
    frame = pandas.DataFrame(
        [(s.n, s.gpus, s.path, s.schedule, s.kernel, t) for s in data.steps for t in s.seconds],
        columns=["n", "gpus", "path", "schedule", "kernel", "seconds"],
    )
    models = [gc.fit(source, replicates=0) for source in (frame, gc.read(frame))]
    assert models[0].quality is not None
    assert models[0].forecast([8000], [1, 2]).seconds.tolist() == pytest.approx(
        models[1].forecast([8000], [1, 2]).seconds.tolist()
    )
