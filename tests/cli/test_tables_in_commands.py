"""Spreadsheets given to commands: the messages and questions about them."""

import json
from pathlib import Path

import pytest

from command_line import Run, assert_refused

TABLE = (
    'system,atoms,GPUs,run,ns/day,note\nm,"24,000",1,1,557.4,\nm,"24,000",1,2,551.0,\n'
    'm,"24,000",2,1,424.6,\nm,"96,000",1,1,225.0,\nm,"96,000",2,1,,oom\n'
)
UNDERSTOOD = [
    "t.csv: P 1; 2 sizes, 24000 to 96000 atoms; 1, 2 GPUs; 3 cells, 1 to 2 repetitions; "
    "a step 310 us to 768 us",
    "t.csv: n from 'atoms', seconds from 'ns/day'",
    "t.csv: 1 column not used: 'system'",
    "t.csv: 1 row without a time left out",
]


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)


def test_import_says_what_it_understood(run: Run) -> None:
    stated = ["--timestep", "2fs", "--program", "P 1"]
    status, out, err = run("import", "t.csv", *stated, "-o", "t.jsonl")
    assert (status, err) == (0, "")
    assert out.splitlines()[:4] == UNDERSTOOD
    status, out, err = run("import", "t.csv", *stated, "-o", "t.jsonl", "--force", "--json")
    assert json.loads(out)["understood"] == UNDERSTOOD


def test_import_asks_for_what_it_cannot_know(run: Run) -> None:
    asked = "t.csv:1: 'ns/day' needs the simulated time of a step; import with --timestep 2fs"
    assert_refused(run("import", "t.csv", "-o", "t.jsonl"), asked)
    assert_refused(run("import", "t.csv", "-o", "t.jsonl", "--timestep", "2"), "--timestep: '2' is")
    assert not Path("t.jsonl").exists()


def test_data_are_taken_wherever_records_are(run: Run) -> None:
    text = TABLE.replace("ns/day", "steps/s")
    Path("t.csv").write_text(text)
    status, out, err = run("data", "show", "t.csv", "--json")
    assert status == 0
    assert len(json.loads(out)["records"]) == 3
    assert [line.partition(": t.csv: ")[0] for line in err.splitlines()] == ["gpucast: note"] * 4
    status, out, err = run("data", "export", "t.csv", "--format", "csv")
    assert status == 0
    assert out.startswith("path,schedule,kernel,n,gpus,repeat,seconds,unit\nnative,,,24000,1,1,")


def test_tables_come_back_as_they_were_exported(run: Run) -> None:
    stated = ["--timestep", "2fs", "--program", "P 1", "--case", "C"]
    assert run("import", "t.csv", *stated, "-o", "t.jsonl")[0] == 0
    assert run("data", "export", "t.jsonl", "--format", "csv", "-o", "again.csv")[0] == 0
    assert run("import", "again.csv", "-o", "again.jsonl")[0] == 0
    first, second = (Path(name).read_text().splitlines()[1:] for name in ("t.jsonl", "again.jsonl"))
    assert [json.loads(line) for line in first] == [json.loads(line) for line in second]


def test_what_was_measured_is_no_model(run: Run) -> None:
    assert run("import", "t.csv", "--timestep", "2fs", "-o", "t.jsonl")[0] == 0
    hint = "gpucast fit DATA -o MODEL.json makes one"
    assert_refused(run("predict", "t.jsonl", "-n", "1"), "holds records, not a model; " + hint)
    assert_refused(run("predict", "t.csv", "-n", "1"), "t.csv:1: is no model file", hint)


def test_a_model_is_not_what_was_measured(run: Run) -> None:
    Path("m.json").write_text('{"schema": "gpucast.model/1"}')
    assert_refused(run("fit", "m.json"), "m.json: is a fitted model, not measurements")
