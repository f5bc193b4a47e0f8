"""``gpucast predict``, ``compare``, ``what-if`` and ``validate`` as a user meets them."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, answer_of, assert_refused, files_of, only_json
from made_data import NATIVE, VIRTUALIZED, dataset, machine, microbenchmarks, steps, whole


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """native.json, remote.json, alone.json (steps only); far.jsonl (transfers, launches, steps)."""
    where = tmp_path_factory.mktemp("forecasts")
    rng = np.random.default_rng(1)
    gc.fit(whole(), replicates=100).save(where / "native.json")
    far = dataset(
        [
            machine(),
            *microbenchmarks(VIRTUALIZED, rng, path="remote"),
            *steps(VIRTUALIZED.seconds, rng, path="remote"),
        ]
    )
    far.dump(where / "far.jsonl")
    gc.fit(far, replicates=100).save(where / "remote.json")
    near = dataset([machine(), *steps(NATIVE.seconds, rng)])
    gc.fit(near, replicates=0).save(where / "alone.json")
    return where


def test_predict_answers_as_one_json_object(run: Run, folder: Path) -> None:
    status, out, err = run(
        "predict", folder / "native.json", "-n", "1000,1e5", "--gpus", "1-2,8", "--json"
    )
    answer = only_json(out)
    assert status == 0
    rows = answer["forecast"]
    assert [(row["n"], row["gpus"]) for row in rows] == [
        (n, gpus) for n in (1000, 100000) for gpus in (1, 2, 8)
    ]
    for row in rows:
        truth = NATIVE.seconds(np.array([row["n"]]), np.array([row["gpus"]]))[0]
        assert row["model"] == "native"
        assert row["seconds"] == pytest.approx(truth, rel=0.05)
        assert 0 < row["low"] < row["seconds"] < row["high"]
        assert row["t_gpu"] + row["t_cpu"] + row["t_com"] == pytest.approx(row["seconds"])
        assert row["extrapolated"] is (row["gpus"] == 8 or row["n"] == 100000)
    for best in answer["best"]:
        times = [row["seconds"] for row in rows if row["n"] == best["n"]]
        assert best["seconds"] == min(times)
        assert 0 < best["probability"] <= 1
        assert best["gpus"] in best["within_2_percent"]
    assert all(line.startswith("gpucast: warning: ") for line in err.splitlines())


@pytest.mark.parametrize("best", [False, True])
def test_predict_writes_its_rows_as_csv(run: Run, folder: Path, tmp_path: Path, best: bool) -> None:
    asked = ("predict", folder / "native.json", "-n", "1000,1e5", "--gpus", "1,2")
    asked += ("--best",) if best else ()
    target = tmp_path / "rows.csv"
    rows = answer_of(run(*asked, "-o", target, "--json"))["best" if best else "forecast"]
    with target.open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert len(written) == len(rows) == (2 if best else 4)
    for line, row in zip(written, rows, strict=True):
        assert line.keys() == row.keys()
        for name, value in row.items():
            if isinstance(value, list):
                assert line[name] == ",".join(map(str, value))
            elif isinstance(value, int | float) and not isinstance(value, bool):
                assert float(line[name]) == value
            else:
                assert line[name] == ("" if value is None else str(value))
    before = target.read_bytes()
    assert_refused(run(*asked, "-o", target), "rows.csv", "--force")
    assert target.read_bytes() == before
    assert run(*asked, "-o", target, "--force")[0] == 0


def test_predict_writes_csv_only(run: Run, folder: Path, tmp_path: Path) -> None:
    asked = ("predict", folder / "native.json", "-n", 1000)
    assert_refused(run(*asked, "-o", tmp_path / "rows.json"), "ends in .csv")
    assert files_of(tmp_path) == {}


def test_predict_takes_several_models(run: Run, folder: Path) -> None:
    models = [folder / "native.json", folder / "remote.json"]
    answer = only_json(run("predict", *models, "-n", "1000", "--gpus", "1", "--json")[1])
    assert [row["model"] for row in answer["forecast"]] == ["native", "remote"]
    assert [row["model"] for row in answer["best"]] == ["native", "remote"]


def test_predict_shows_tables_and_marks_extrapolation(run: Run, folder: Path) -> None:
    status, out, _ = run("predict", folder / "native.json", "-n", "1000,1e6")
    assert status == 0
    assert "\x1b" not in out
    assert "90 % interval" in out
    assert "best GPUs" in out
    assert "* outside the n or GPU counts that were fitted" in out
    inside = run("predict", folder / "native.json", "-n", "1000", "--gpus", "1-4")[1]
    assert "outside" not in inside
    only = run("predict", folder / "native.json", "-n", "1000", "--best")[1]
    assert "best GPUs" in only
    assert "90 % interval" not in only


def test_predict_shows_what_it_answers_by_where_measurements_refute_the_model(
    run: Run, folder: Path
) -> None:
    """The time of the best count is in the table and marked as measured."""
    content = json.loads((folder / "native.json").read_text())
    cells = content["cells"]
    at = [i for i, n in enumerate(cells["n"]) if n == cells["n"][0]]
    for i in at:
        cells["seconds"][i] = 1.0 if cells["gpus"][i] == 1 else 1.25
    (folder / "refuted.json").write_text(json.dumps(content))
    size = f"{cells['n'][0]:.12g}"
    counts = ",".join(str(cells["gpus"][i]) for i in at)
    out = run("predict", folder / "refuted.json", "-n", size, "--gpus", counts)[1]
    table, best = out.split("\n\n")
    head, _, *rows = table.splitlines()
    assert re.split(r"  +", head.strip())[5] == "measured"
    assert [re.split(r"  +", row.strip())[5] for row in rows[: len(at)]] == [
        "1 s" if cells["gpus"][i] == 1 else "1.25 s" for i in at
    ]
    assert re.search(r" 1 +1 s \(measured\) ", best)
    assert "(measured)" not in run("predict", folder / "native.json", "-n", size, "--best")[1]


def test_predict_without_n_or_model_is_refused(run: Run, folder: Path) -> None:
    assert_refused(run("predict", folder / "native.json", "-n", "1e9,1e19"), "n: ")
    assert_refused(run("predict", folder / "native.json", "-n", "1", "--gpus=1.5"), "gpus: ")
    assert_refused(run("predict", folder / "native.json"), "-n")
    assert_refused(run("predict", "-n", "1"), "MODELS")
    assert_refused(run("predict", folder / "far.jsonl", "-n", "1"), "holds records, not a model")
    assert_refused(run("predict", folder / "none.json", "-n", "1"), "No such file")


def test_compare(run: Run, folder: Path) -> None:
    models = [folder / "native.json", folder / "remote.json"]
    answer = answer_of(run("compare", *models, "-n", "1000,64000", "--gpus", "1,4", "--json"))
    assert (answer["first"], answer["second"]) == ("native", "remote")
    assert len(answer["ratio"]) == 4
    for row in answer["ratio"]:
        cell = np.array([float(row["n"])]), np.array([float(row["gpus"])])
        truth = (VIRTUALIZED.seconds(*cell) / NATIVE.seconds(*cell))[0]
        assert row["ratio"] == pytest.approx(truth, rel=0.06)
        assert row["low"] < row["ratio"] < row["high"]
        assert 0 <= row["probability_first_faster"] <= 1
    assert [row["n"] for row in answer["best"]] == [1000, 64000]
    status, out, _ = run("compare", *models, "-n", "1000")
    assert status == 0
    assert "remote / native" in out
    assert "\x1b" not in out


def test_compare_in_tokens_of_a_batch_of_each_gpu(run: Run, folder: Path) -> None:
    models = [folder / "native.json", folder / "remote.json"]
    words = ("-n", "2000", "--gpus", "2,4", "--size-of", "gpu", "--units", "tokens=512")
    answer = only_json(run("compare", *models, *words, "--json")[1])
    assert answer["best"] == []
    for row, gpus in zip(answer["ratio"], (2, 4), strict=True):
        assert (row["n"], row["gpus"]) == (2000 * gpus, gpus)
        for key in ("first", "second"):
            assert row[f"{key}_per_second"] == pytest.approx(512 * row["n"] / row[key])
    assert "remote, tokens/s" in run("compare", *models, *words)[1]


def test_compare_needs_two_models(run: Run, folder: Path) -> None:
    assert_refused(run("compare", folder / "native.json", "-n", "1"), "REMOTE")
    assert_refused(
        run("compare", folder / "native.json", folder / "far.jsonl", "-n", "1"), "far.jsonl"
    )


@pytest.mark.parametrize("launch", ["auto", "measured", "keep", "scale"])
def test_what_if(run: Run, folder: Path, tmp_path: Path, launch: str) -> None:
    target = tmp_path / "what-if.json"
    status, out, _ = run(
        *("what-if", folder / "native.json", "--transfers", folder / "far.jsonl"),
        *("--path", "remote", "--launch", launch, "-o", target, "--json"),
    )
    answer = only_json(out)
    assert status == 0
    assert gc.load_model(target).content == answer
    values = {name: entry["value"] for name, entry in answer["parameters"].items()}
    assert values["L_h2d"] == pytest.approx(VIRTUALIZED.L_h2d, rel=0.05)
    old = gc.load_model(folder / "native.json").parameter("t_kernel")
    ratio = (VIRTUALIZED.L_h2d + VIRTUALIZED.L_d2h) / (NATIVE.L_h2d + NATIVE.L_d2h)
    expected = {"keep": old, "scale": ratio * old}.get(launch, VIRTUALIZED.t_kernel)
    assert values["t_kernel"] == pytest.approx(expected, rel=0.05)
    used = "measured" if launch == "auto" else launch
    assert answer["data"]["what_if"]["launch"] == used


def test_what_if_shows_what_changed(run: Run, folder: Path, tmp_path: Path) -> None:
    command = ("what-if", folder / "native.json", "--transfers", folder / "far.jsonl")
    status, out, _ = run(*command, "-o", tmp_path / "w.json")
    assert status == 0
    assert "what if" in out
    assert "L_h2d" in out
    assert "\x1b" not in out
    before = files_of(tmp_path)
    assert_refused(run(*command, "-o", tmp_path / "w.json"), "--force")
    assert files_of(tmp_path) == before


def test_what_if_on_another_kind(run: Run, folder: Path, tmp_path: Path) -> None:
    native, target = folder / "native.json", tmp_path / "h100.json"
    command = ("what-if", native, "--kind", "H100-SXM5", "--from-kind", "A100-SXM4-80GB")
    status, out, err = run(*command, "-o", target, "--json")
    assert status == 0
    answer = only_json(out)
    rows = answer.pop("forecasts")
    moved = gc.load_model(target)
    assert moved.content == answer
    counts = [row["gpus"] for row in rows]
    forecasts = moved.forecasts([row["n"] for row in rows], counts)
    assert [row["seconds"] for row in rows] == pytest.approx(forecasts.seconds.tolist())
    assert all(row["low"] < row["seconds"] < row["high"] for row in rows)
    ratios = [row["seconds"] / row["as_fitted"] for row in rows]
    assert [row["ratio"] for row in rows] == pytest.approx(ratios)
    assert "T_gpu on H100-SXM5 is taken as" in err
    assert "ratio" in run(*command)[1]
    assert_refused(run(*command[:2], "--kind", "H9", "--from-kind", "A30"), "not a kind of GPU")
    assert_refused(run(*command, "--like", "weather"), "lattice-boltzmann")
    assert_refused(run(*command, "--transfers", folder / "far.jsonl"), "another path")
    assert_refused(run("what-if", native, "--like", "training"), "--kind")
    assert_refused(run(*command, "--further", "V100"), "KIND=FILE")
    assert_refused(run(*command, "--further", "V100-SXM2-16GB=none.csv"), "none.csv")
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "machines:\n"
        f"  - {{name: a100, model: {native}, gpus: 4, price_per_gpu_hour: 2}}\n"
        f"  - {{name: h100, model: {native}, gpus: 4, price_per_gpu_hour: 3,\n"
        "     kind: H100-SXM5, from_kind: A100-SXM4-80GB}\n"
        "jobs:\n  - {name: a, n: 64000, steps: 1000000}\n"
    )
    assert answer_of(run("plan", plan, "--json"))["jobs"][0]["fastest"]["machine"] == "h100"


def test_what_if_refuses_and_writes_nothing(run: Run, folder: Path, tmp_path: Path) -> None:
    far, native = folder / "far.jsonl", folder / "native.json"
    one_way = tmp_path / "one-way.jsonl"
    rng = np.random.default_rng(0)
    dataset([machine(), *microbenchmarks(VIRTUALIZED, rng, routes=("h2d",))]).dump(one_way)
    before = files_of(tmp_path)
    out = ("-o", tmp_path / "w.json")
    alone = folder / "alone.json"
    assert_refused(run("what-if", alone, "--transfers", far, *out), "cannot be replaced")
    assert_refused(run("what-if", native, "--transfers", one_way, *out), "no d2h transfers")
    assert_refused(run("what-if", native, "--transfers", far, "--path", "x", *out), "remote")
    assert_refused(run("what-if", native, "--transfers", "dscuda", *out), "path: there are several")
    assert_refused(run("what-if", native, "--transfers", far, "--launch", "x", *out), "--launch")
    assert_refused(run("what-if", native, *out), "--transfers")
    assert_refused(run("what-if", native, "--transfers", far), "-o")
    assert files_of(tmp_path) == before


def test_validate_shows_a_table(run: Run, folder: Path) -> None:
    asked = ("validate", folder / "remote.json", folder / "far.jsonl")
    errors = {"median_relative_error", "p95_relative_error", "max_relative_error"}
    answer = only_json(run(*asked, "--json")[1])
    assert {*errors, "cells", "coverage", "best_hits", "mean_regret"} <= answer.keys()
    status, out, _ = run(*asked)
    assert status == 0
    assert "\x1b" not in out
    assert "best GPU count right for" in out
    assert_refused(run("validate", folder / "remote.json", "p2p-copy"), "no steps of path 'remote'")
    assert_refused(run("validate", folder / "remote.json", "dscuda"), "choose one with --path")
