"""``gpucast fit`` as a user meets it."""

import os
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, assert_refused, files_of, only_json
from gpucast.cli.output import MOST_WARNINGS
from made_data import NATIVE, dataset, machine, steps, steps_alone, whole


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    whole().dump(path)
    return path


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    path = tmp_path / "alone.jsonl"
    steps_alone().dump(path)
    return path


def test_json_is_one_object_with_everything(run: Run, data: Path) -> None:
    status, out, err = run("fit", data, "--json")
    answer = only_json(out)
    assert status == 0
    assert answer["model"] == {"gpu": "wave", "cpu": "linear", "com": "star-serial"}
    assert answer["k"] == NATIVE.k
    assert all({"k", "cost"} <= entry.keys() for entry in answer["k_profile"])
    for name, entry in answer["parameters"].items():
        assert entry["unit"] == ("B/s" if name.startswith("B_") else "s")
        low, high = entry["ci95"]
        assert low < entry["value"] < high
        assert entry["stderr"] > 0
        assert entry["identified"] is True
    assert answer["combinations"] == []
    assert answer["rank"] == 7
    assert {
        "median_relative_error", "p95_relative_error", "reduced_chi2", "lack_of_fit_p"
    } <= answer["quality"].keys()  # fmt: skip
    assert all({"model", "cv_error"} <= entry.keys() for entry in answer["candidates"])
    assert answer["observations"]["samples"] == 7 * 4 * 5 + 2 * 9 * 5 + 3 * 5
    assert isinstance(answer["warnings"], list)
    assert len(err.splitlines()) <= MOST_WARNINGS


def test_explain_says_every_warning_once_and_in_full(run: Run, alone: Path) -> None:
    _, out, err = run("fit", alone, "--explain", "--json")
    answer = only_json(out)
    told = [line.removeprefix("gpucast: warning: ") for line in err.splitlines()]
    assert sorted(told) == sorted({*answer["warnings"], *answer["notes"]})
    shown = run("fit", alone)[2].splitlines()
    assert 0 < len(shown) <= MOST_WARNINGS
    assert len(shown) < len(told)
    assert shown[-1].endswith(f"(and {len(told) - len(shown)} more: --explain)")


def test_tables_are_for_people(run: Run, alone: Path) -> None:
    status, out, err = run("fit", alone)
    assert status == 0
    assert "\x1b" not in out + err
    assert ", k = 4" in out
    assert "known together: t_cpu + 12/B_d2h" in out
    assert "not identified" in out
    assert "rank 4 of 7" in out
    assert "paper" in out
    assert all(line.startswith("gpucast: warning: ") for line in err.splitlines())


def test_the_model_file_is_what_was_answered(run: Run, data: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.json"
    answer = only_json(run("fit", data, "-o", target, "--json")[1])
    assert gc.load_model(target).content == answer
    status, out, _ = run("fit", data, "-o", target, "--force")
    assert status == 0
    assert f"Model written to {target}" in out


def test_an_existing_file_is_not_touched(run: Run, data: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.json"
    target.write_text("mine")
    before = files_of(tmp_path)
    assert_refused(run("fit", data, "-o", target), str(target), "--force")
    assert files_of(tmp_path) == before


def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    run: Run, tmp_path: Path
) -> None:
    """The data are not records; the lack of an error shows that they were not read."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    assert_refused(run("fit", bad, "-o", tmp_path / "none" / "m.json"), "none does not exist")
    assert_refused(run("fit", bad, "-o", tmp_path), "directory")
    if os.geteuid() == 0:
        return  # root may write anywhere
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert_refused(run("fit", bad, "-o", closed / "m.json"), "not writable")


def test_nothing_is_written_where_the_fit_fails(run: Run, data: Path, tmp_path: Path) -> None:
    before = files_of(tmp_path)
    assert_refused(run("fit", data, "-o", tmp_path / "m.json", "--model", "x"), "model: 'x'")
    assert_refused(run("fit", data, "-o", tmp_path / "m.json", "--path", "x"), "path: no records")
    assert_refused(run("fit", "p2p-copy", "-o", tmp_path / "m.json"), "needs steps")
    assert files_of(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--replicates", "-1"], "--replicates"),
        (["--replicates", "1e3"], "--replicates"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "9" * 30], "seed"),
        (["--colour"], "--colour"),
        (["--memory", "mapped"], "no transfers with 'mapped'"),
        (["--schedule", "mpi"], "star-serial"),
        (["--kernel", "tuned"], "claret"),
        (["--machine", "x"], "there are: m"),
    ],
)
def test_wrong_options_are_refused(run: Run, data: Path, options: list[str], said: str) -> None:
    assert_refused(run("fit", data, *options), said)


def test_kinds_of_steps_are_chosen_by_options(run: Run, tmp_path: Path) -> None:
    first = {"block": 128, "memory": "pinned", "graph": True, "boundary": "periodic"}
    other = {"block": 256, "memory": "pageable", "graph": False}
    rng = np.random.default_rng(1)
    records = [
        record
        for kind in (first, other)
        for record in steps(NATIVE.seconds, rng, n=[1000, 8000, 64000], repeats=2, **kind)
    ]
    file = tmp_path / "kinds.jsonl"
    dataset([machine(), *records]).dump(file)
    assert_refused(run("fit", file), "there are several: 128, 256; choose one with --block")
    choices = ["--block", "128"], ["--memory", "pinned"], ["--graph"], ["--boundary", "periodic"]
    for options in choices:
        answer = only_json(run("fit", file, *options, "--replicates", "0", "--json")[1])
        assert {**answer["data"], "block": answer["machine"]["block"]}.items() >= first.items()
    answer = only_json(run("fit", file, "--no-graph", "--replicates", "0", "--json")[1])
    assert (answer["data"]["graph"], answer["data"]["boundary"]) == (False, "open")
    status, out, _ = run("data", "export", file, "--format", "csv", "--no-graph")
    assert (status, out.count("claret")) == (0, sum(len(r["seconds"]) for r in records) // 2)
    assert_refused(
        run("data", "export", file, "--format", "csv"), "block: there are several: 128, 256"
    )


def test_several_files_are_one_dataset(run: Run, tmp_path: Path) -> None:
    """Steps in one file, transfers and launches in another: together they determine everything."""
    together = whole()
    for name, kinds in (("steps", ("step",)), ("others", ("transfer", "launch"))):
        kept = [record for record in together.records if record.kind in kinds]
        gc.Dataset(name, together.machines, kept).dump(tmp_path / f"{name}.jsonl")
    files = [tmp_path / "steps.jsonl", tmp_path / "others.jsonl"]
    assert only_json(run("fit", files[0], "--json")[1])["rank"] == 4
    assert only_json(run("fit", *files, "--json")[1])["rank"] == 7


def test_transfers_alone_are_fitted_and_compared(run: Run) -> None:
    status, out, err = run("fit", "p2p-copy", "--json")
    answer = only_json(out)
    assert status == 0
    assert answer["warnings"] == ["left out transfers: 2 of a first call"]
    assert err == ""  # of no consequence
    assert {(t["machine"], t["route"]) for t in answer["transfers"]} == {
        (machine, route)
        for machine in ("tesla-c2050", "geforce-gtx580")
        for route in ("peer", "staged")
    }
    for row in answer["transfers"]:
        for entry in row["parameters"].values():
            assert entry["value"] > 0
            assert len(entry["ci95"]) == 2
    crossovers = {row["machine"]: row for row in answer["crossovers"]}
    always, from_a_size = crossovers["tesla-c2050"], crossovers["geforce-gtx580"]
    assert always["bytes"] == always["smallest"]
    assert 0.5e6 < from_a_size["bytes"] < 2e6
    low, high = from_a_size["ci95"]
    assert low <= from_a_size["bytes"] <= high


def test_transfers_alone_are_told_in_sentences(run: Run) -> None:
    status, out, _ = run("fit", "p2p-copy")
    assert status == 0
    assert "\x1b" not in out
    assert "tesla-c2050: peer is faster than staged at every size" in out
    assert "geforce-gtx580: peer is faster than staged from 1.0" in out
