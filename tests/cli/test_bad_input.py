"""User errors.

They give one line that says what and where, exit status 2 and no output; or, if the answer is still
right, the answer with a warning.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, assert_refused, files_of, only_json, shell
from made_data import NATIVE, machine, step, steps, whole

SCHEMA = {"schema": "gpucast.record/1"}


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps({**SCHEMA, **record}) + "\n" for record in records)


def good(**how: Any) -> list[dict[str, Any]]:
    grid: dict[str, Any] = {"n": [1000, 8000, 64000], "gpus": [1, 2], "repeats": 3, **how}
    return [machine(), *steps(NATIVE.seconds, np.random.default_rng(0), **grid)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(run: Run, content: str | bytes) -> tuple[int, str, str]:
    """``gpucast fit`` of a file of this content, asked to write m.json."""
    raw = content if isinstance(content, bytes) else content.encode()
    Path("data.jsonl").write_bytes(raw)
    return run("fit", "data.jsonl", "-o", "m.json", "--json")


ONE = step(1000, 1, [0.5, 0.6])

# What a line may hold is tested in tests/data/test_records.py, and what a cell of CSV may, in
# test_formats_csv.py and test_tables.py; here, that a command says it and writes nothing.
RECORDS: dict[str, tuple[str | bytes, str]] = {
    "an empty file": ("", "data.jsonl: is empty"),
    "a line cut short in the middle": (
        lines(machine()) + '{"schema": "gpucast.rec\n' + lines(ONE),
        "data.jsonl:2: not valid JSON",
    ),
    "an unknown field": (lines(machine(), {**ONE, "colour": 1}), "data.jsonl:2: colour: unknown"),
    "no machine": (lines(ONE), "data.jsonl:1: machine: "),
    "half a GPU": (lines(machine(), {**ONE, "gpus": 1.5}), ":2: gpus: must be a whole number"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x00", "data.jsonl:1: not valid JSON"),
    "no UTF-8": (lines(machine()).encode() + b'{"path": "\xe4"}\n', "data.jsonl:2: "),
    "a machine alone": (lines(machine()), "data.jsonl: there are no steps and no transfers"),
}


@pytest.mark.parametrize("name", list(RECORDS))
def test_wrong_records_are_refused_in_one_line(name: str, run: Run, tmp_path: Path) -> None:
    content, message = RECORDS[name]
    (tmp_path / "m.json.old").write_text("mine")
    assert_refused(fit(run, content), message)
    assert set(files_of(tmp_path)) == {"data.jsonl", "m.json.old"}


def answered(finished: tuple[int, str, str], *parts: str) -> dict[str, Any]:
    """The answer of a command that gave these warnings."""
    status, out, err = finished
    assert status == 0, err
    warnings = err.splitlines()
    assert all(line.startswith("gpucast: warning: ") for line in warnings)
    for part in parts:
        assert any(part in line for line in warnings), err
    return only_json(out)


def test_a_last_line_cut_short_is_left_out_with_a_warning(run: Run) -> None:
    answer = answered(fit(run, lines(*good()) + '{"schema": "gpuc'), "data.jsonl:8", "cut off")
    assert answer["observations"]["step_samples"] == 18


def test_cells_given_twice_count_twice_with_a_warning(run: Run) -> None:
    records = good()
    answer = answered(fit(run, lines(*records, *records[1:])), "samples count twice")
    assert answer["observations"]["step_samples"] == 36
    assert answer["observations"]["step_cells"] == 6


def test_cells_measured_again_are_one_cell(run: Run) -> None:
    again = steps(NATIVE.seconds, np.random.default_rng(1), n=[1000, 8000], gpus=[1], repeats=2)
    answer = answered(fit(run, lines(*good(), *again)))
    assert answer["observations"]["step_samples"] == 22
    assert answer["observations"]["step_cells"] == 6


CSV: dict[str, tuple[str, str]] = {
    "an empty file": ("", "s.csv"),
    "steps of minutes without a unit": (
        "n,gpus,seconds\n1,1,310\n",
        "--columns seconds=seconds:us",
    ),
    "text for a number": ("n,gpus,seconds\n1000,1,fast\n", "s.csv:2: seconds"),
    "a quote that never ends": ('n,gpus,seconds\n"' + "1,1,1\n" * 30_000, "s.csv:2: not valid CSV"),
    "very many fields": ("n,gpus,seconds\n" + "1," * 100_000 + "\n", "has 100001 fields where"),
}


@pytest.mark.parametrize("name", list(CSV))
def test_a_wrong_csv_is_refused_in_one_line(name: str, run: Run, tmp_path: Path) -> None:
    content, message = CSV[name]
    (tmp_path / "s.csv").write_text(content)
    assert_refused(run("import", "s.csv", "--cores", "2304", "-o", "d.jsonl"), message)
    assert set(files_of(tmp_path)) == {"s.csv"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bad-input") / "native.json"
    gc.fit(whole(), replicates=50).save(path)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "BAD", "-n", "1000"],
        ["compare", "BAD", "GOOD", "-n", "1000"],
        ["what-if", "BAD", "--transfers", "dscuda", "--path", "infiniband", "-o", "out.json"],
        ["validate", "BAD", "dscuda", "--path", "local"],
    ],
)
def test_every_command_refuses_a_damaged_model(
    command: list[str], model: Path, run: Run, tmp_path: Path
) -> None:
    content = json.loads(model.read_text())
    content["parameters"]["t_gpu"]["value"] = -1
    (tmp_path / "bad.json").write_text(json.dumps(content))
    names = {"BAD": "bad.json", "GOOD": str(model)}
    finished = run(*(names.get(word, word) for word in command))
    assert_refused(finished, "bad.json: parameters.t_gpu.value: must be greater than 0")
    assert set(files_of(tmp_path)) == {"bad.json"}


def test_paths_that_cannot_be_read_are_refused(run: Run, tmp_path: Path) -> None:
    assert_refused(run("fit", "none.jsonl"), "none.jsonl: no such file")
    assert_refused(run("fit", "."), ".: holds no files")
    assert_refused(run("predict", "none.json", "-n", "1"), "No such file")
    (tmp_path / "loop").symlink_to("loop")
    assert_refused(run("predict", "loop", "-n", "1"), "loop: ")
    if os.geteuid() != 0:  # root reads everything
        (tmp_path / "closed").write_text("x")
        (tmp_path / "closed").chmod(0)
        assert_refused(run("fit", "closed"), "closed: Permission denied")


@pytest.mark.parametrize("target", ["none/m.json", "/proc/gpucast-model.json", ".", "data.jsonl"])
def test_paths_that_cannot_be_written_are_refused(target: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(lines(*good()))
    before = files_of(tmp_path)
    status, out, err = run("fit", "data.jsonl", "-o", target)
    assert (status, out) == (2, "")
    errors = [x for x in err.splitlines() if not x.startswith("gpucast: warning: ")]
    assert len(errors) == 1
    assert errors[0].startswith(f"gpucast: error: {target}: ")
    assert files_of(tmp_path) == before


def test_names_of_any_script_are_kept(run: Run, tmp_path: Path) -> None:
    names = {"path": "вдали 🚀", "kernel": "塩 | ker,nel", "machine": "größe"}
    records = [machine(name=names["machine"])]
    records += [{**record, **names} for record in good()[1:]]
    records += [{**record, **names, "path": "autre"} for record in good()[1:]]
    data, target = "données 日本.jsonl", "modèle é.json"
    (tmp_path / data).write_text(lines(*records), encoding="utf-8")
    listed = run("fit", data)
    assert_refused(listed, "path: there are several: вдали 🚀, autre")
    finished = shell("fit", data, "--path", "вдали 🚀", "-o", target, "--json", folder=tmp_path)
    answer = answered((finished.returncode, finished.stdout, finished.stderr))
    assert answer["data"]["kernel"] == names["kernel"]
    assert answer["machine"]["id"] == names["machine"]
    table = shell("predict", target, "-n", "1000", folder=tmp_path)
    assert table.returncode == 0
    assert "modèle é" in table.stdout
    checked = run("validate", target, data, "--json")
    assert len(answered(checked)["cells"]) == 6


@pytest.mark.parametrize("command", ["fit", "predict", "report", "import", "plan"])
def test_a_pickle_is_refused_and_runs_nothing(command: str, run: Run, tmp_path: Path) -> None:
    ran, pickled = tmp_path / "ran", tmp_path / "data.jsonl"
    pickled.write_bytes(f"cos\nsystem\n(S'touch {ran}'\ntR.".encode())
    before = files_of(tmp_path)
    options = {"predict": ("-n", 1000), "plan": ()}.get(command, ("-o", tmp_path / "out"))
    assert_refused(run(command, pickled, *options), str(pickled))
    assert files_of(tmp_path) == before


def test_names_turn_no_terminals_text_around(run: Run, tmp_path: Path) -> None:
    name = "\u202etaralc\u2066"
    records = [machine(name=name)]
    records += [
        {**record, **dict.fromkeys(("machine", "path", "kernel"), name)} for record in good()[1:]
    ]
    records += [{"schema": "gpucast.record/1", "kind": "note", "text": f"by {name}"}]
    data, model = tmp_path / "data.jsonl", tmp_path / f"{name}.json"
    data.write_text(lines(*records), encoding="utf-8")
    for command in (
        ("fit", data, "-o", model),
        ("data", "show", data),
        ("data", "show", data, "--all"),
        ("predict", model, "-n", 1000, "--next"),
        ("validate", model, data),
        ("report", model, "--data", data, "-o", tmp_path / f"{name}.html"),
    ):
        status, out, err = run(*command)
        assert status == 0, err
        assert not {*"\u202e\u2066"} & {*out, *err}, command
        if command[0] != "validate":  # which names none
            assert r"\u202etaralc\u2066" in out, command


@pytest.mark.parametrize("command", ["fit", "predict", "compare", "what-if", "validate"])
def test_wrong_usage_is_one_line(command: str, run: Run) -> None:
    assert_refused(run(command), f"gpucast {command} --help")
    assert_refused(run(command, "--no-such-option"), "--no-such-option")
