"""Steps of programs that are not ours, without schedule and kernel, through every command."""

import json
from pathlib import Path

import pytest

import gpucast as gc
from command_line import Run, assert_refused, only_json
from gpucast.data import jsonl
from gpucast.data.loading import load
from gpucast.data.records import Step
from made_data import machine, step

SIZES = (1.5e9, 3e9, 12e9, 50e9)
COUNTS = (1, 2, 4, 8, 1024)


def foreign(n: float, gpus: int, **other: object) -> dict[str, object]:
    """A step of another program, with 1 % noise."""
    times = [n / gpus * 1e-9 * factor + 0.01 for factor in (1.0, 1.01, 0.99)]
    record = step(1, gpus, times, program="warp", unit="cells", **other)
    bare = {key: value for key, value in record.items() if key not in ("schedule", "kernel")}
    return {**bare, "n": n}


def written(file: Path, *records: dict[str, object]) -> Path:
    file.write_text(jsonl.to_text(jsonl.record(record) for record in records))
    return file


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    steps = [foreign(n, gpus) for n in SIZES for gpus in COUNTS]
    return written(tmp_path_factory.mktemp("foreign") / "warp.jsonl", machine(), *steps)


@pytest.fixture(scope="module")
def model(data: Path) -> Path:
    target = data.with_name("warp.json")
    gc.fit(gc.load(data), replicates=20).save(target)
    return target


def test_import_states_no_schedule_and_no_kernel_that_nobody_stated(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "steps.csv").write_text("n,gpus,seconds\n1.5e10,1,0.5\n0.25,27600,0.5\n")
    target = tmp_path / "steps.jsonl"
    assert run("import", tmp_path / "steps.csv", "-o", target)[0] == 0
    imported = load(target).steps
    assert [(record.n, record.gpus) for record in imported] == [(15_000_000_000, 1), (0.25, 27600)]
    assert [(record.schedule, record.kernel) for record in imported] == [(None, None)] * 2


def test_sizes_are_shown_as_people_write_them(run: Run, data: Path) -> None:
    out = run("data", "show", data)[1]
    assert "1.5e9     1 " in out
    assert "warp" in out
    assert "None" not in out


@pytest.mark.parametrize("form", ["csv", "extrap-json", "extrap-jsonl", "extrap-text"])
def test_an_export_comes_back_as_it_was(run: Run, data: Path, tmp_path: Path, form: str) -> None:
    there, back = tmp_path / "exported", tmp_path / "back.jsonl"
    assert run("data", "export", data, "--format", form, "-o", there)[0] == 0
    assert run("import", there, "-o", back)[0] == 0

    def content(file: Path) -> list[tuple[object, ...]]:
        steps: list[Step] = load(file).steps
        return sorted((s.n, s.gpus, s.schedule, s.kernel, tuple(s.seconds)) for s in steps)

    assert content(back) == content(data)


def test_a_model_says_what_was_stated_and_nothing_else(model: Path) -> None:
    about = json.loads(model.read_text())["data"]
    assert (about["schedule"], about["kernel"], about["program"]) == (None, None, "warp")
    loaded = gc.load_model(model)
    assert loaded.domain.n == (1.5e9, 50e9)
    assert loaded.data.words == "program 'warp'"


def test_forecasts_reports_and_plans_are_of_its_sizes(
    run: Run, data: Path, model: Path, tmp_path: Path
) -> None:
    status, out, _ = run("predict", model, "-n", "3e9,2500000000.5", "--gpus", "4", "--json")
    assert status == 0
    assert [row["n"] for row in only_json(out)["forecast"]] == [3e9, 2_500_000_000.5]
    assert run("validate", model, data)[0] == 0
    page = tmp_path / "page.html"
    status, out, _ = run("report", model, "--data", data, "-o", page)
    assert (status, "n = 5e10" in out) == (0, True)
    assert "schedule None" not in page.read_text()
    (tmp_path / "plan.yaml").write_text(
        f"machines: [{{name: here, model: {model}, gpus: 8, price_per_gpu_hour: 1}}]\n"
        "jobs: [{name: run, n: 2.5e9, steps: 1000}]\n"
    )
    assert run("plan", tmp_path / "plan.yaml")[0] == 0


def test_cases_that_only_name_sizes_are_fitted_as_one(run: Run, tmp_path: Path) -> None:
    steps = [foreign(n, gpus, case=f"{n:g} cells") for n in SIZES for gpus in COUNTS]
    data = written(tmp_path / "warp.jsonl", machine(), *steps)
    target = tmp_path / "warp.json"
    status, _, err = run("fit", data, "-o", target, "--replicates", "0")
    assert status == 0
    assert "the 4 cases only name the steps' sizes or GPU counts" in err
    assert run("validate", target, data)[0] == 0
    assert run("figures", "steps", data, "--model", "none", "-o", tmp_path / "a.png")[0] == 0


def test_cases_that_differ_are_chosen_among(run: Run, tmp_path: Path) -> None:
    cases = ("double a", "double b")
    steps = [foreign(n, gpus, case=case) for case in cases for n in SIZES for gpus in COUNTS]
    data = written(tmp_path / "warp.jsonl", machine(), *steps)
    there = "double a, double b"
    assert_refused(run("fit", data), f"case: there are several: {there}; choose one with --case")
    several = f"case: 'double' is a part of several: {there}; name more of one"
    assert_refused(run("fit", data, "--case", "double"), several)
    status, out, _ = run("fit", data, "--case", "E B", "--replicates", "0", "--json")
    assert (status, only_json(out)["data"]["case"]) == (0, "double b")


def test_steps_of_ours_and_of_others_are_not_one_series(run: Run, tmp_path: Path) -> None:
    ours = step(1000, 1, [0.5])
    data = written(tmp_path / "both.jsonl", machine(), ours, foreign(2000, 1))
    assert_refused(run("fit", data), "schedule: 1 of 2 steps state no schedule")
