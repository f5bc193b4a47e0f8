"""Programs known only by their step times, in the programs' own words."""

from pathlib import Path

import pytest

from command_line import Run, answer_of, assert_refused, only_json
from other_programs import fitted, md, records


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """md.json and md.jsonl; grid.json: cells, without a time step."""
    where = tmp_path_factory.mktemp("other")
    records().dump(where / "md.jsonl")
    md().save(where / "md.json")
    fitted(records(unit="cells", timestep=None, program="grid")).save(where / "grid.json")
    return where


def header(out: str) -> list[str]:
    return out.splitlines()[0].split()


def test_predict_speaks_of_atoms_and_nanoseconds_a_day(run: Run, folder: Path) -> None:
    status, out, _ = run("predict", folder / "md.json", "-n", "96000,5e5", "--gpus", "1,2,8")
    assert status == 0
    assert header(out)[:2] == ["model", "atoms"]
    for word in ("ns/day", "efficiency", "measured", "best GPUs"):
        assert word in out
    for word in ("Gflops", "CPU", "com"):
        assert word not in out
    cell = next(line for line in out.splitlines() if line.split()[1:3] == ["96000", "1"])
    # 2 fs a step of 0.765 ms
    assert float(cell.split()[-3]) == pytest.approx(2e-15 * 86400 / 0.765e-3 * 1e9, rel=0.02)


def test_predict_counts_steps_a_second_where_no_time_step_is_known(run: Run, folder: Path) -> None:
    _, out, _ = run("predict", folder / "grid.json", "-n", "5e5", "--gpus", "2")
    assert "steps/s" in out
    assert "ns/day" not in out
    assert header(out)[1] == "cells"
    assert "measured" not in out


@pytest.mark.parametrize(("gpus", "reference"), [("1,4", 1), ("2,4,8", 2), ("4", 1)])
def test_efficiency_names_the_count_that_it_is_against(
    run: Run, folder: Path, gpus: str, reference: int
) -> None:
    asked = ("predict", folder / "md.json", "-n", "96000", "--gpus", gpus)
    assert f"efficiency (N_ref = {reference})" in run(*asked)[1].splitlines()[0]
    rows = only_json(run(*asked, "--json")[1])["forecast"]
    assert {row["reference_gpus"] for row in rows} == {reference}


def test_models_of_different_programs_get_tables_of_their_own(run: Run, folder: Path) -> None:
    status, out, _ = run("predict", folder / "md.json", folder / "grid.json", "-n", "5e5")
    assert status == 0
    headers = [line.split()[1] for line in out.splitlines() if line.startswith("model")]
    assert headers == ["atoms", "cells", "n"]


def test_json_has_rates_and_none_where_something_is_not_known(run: Run, folder: Path) -> None:
    _, out, _ = run("predict", folder / "grid.json", "-n", "96000,5e5", "--gpus", "1,4", "--json")
    answer = only_json(out)
    for row in answer["forecast"]:
        assert row["steps_per_second"] == pytest.approx(1 / row["seconds"])
        assert row["ns_per_day"] is None
        assert (row["measured"] is None) is (row["n"] == 5e5)
        assert row["low"] < row["seconds"] < row["high"]


def test_what_to_know_of_a_forecast_is_one_line_and_in_the_answer(run: Run, folder: Path) -> None:
    arguments = ("predict", folder / "md.json", "-n", "5e6", "--gpus", "1,8")
    _, _, err = run(*arguments)
    (line,) = err.splitlines()
    assert line.startswith("gpucast: warning: md: beyond ")
    assert line.endswith("(and 1 more: --explain)")
    texts = [caveat["text"] for caveat in answer_of(run(*arguments, "--json"))["caveats"]]
    assert len(texts) == 2
    assert any(text.startswith("beyond 4 GPUs: forecasts without N = 4 missed") for text in texts)
    _, _, err = run("predict", folder / "md.json", "-n", "96000", "--gpus", "1,4")
    assert err == ""


def test_a_what_if_of_such_a_program_is_refused_with_what_to_do(run: Run, folder: Path) -> None:
    output = folder / "pool.json"
    answer = run("what-if", folder / "md.json", "--transfers", "h200-x4", "-o", output)
    assert_refused(answer, "known by its step times alone", "steps timed there")
    assert not output.exists()


PLAN = """\
machines:
  - name: cluster
    gpus: 8
    price_per_gpu_hour: 2.5
jobs:
  - name: membrane
    n: 500000
    ns: 100
    deadline: 4d
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


def test_a_plan_takes_the_time_step_of_the_program_and_its_only_model(
    run: Run, folder: Path, plan: Path
) -> None:
    status, out, err = run("plan", plan, folder / "md.json")
    assert status == 0
    assert "ns/day" in out
    assert "of peak" not in out
    assert "That simulation on the GPUs there are" in out
    assert err.startswith("gpucast: warning: md: beyond 4 GPUs: forecasts without N = 4 missed it")
    job = answer_of(run("plan", plan, folder / "md.json", "--json"))["jobs"][0]
    assert job["steps"] == 50_000_000  # 100 ns at 2 fs
    for option in job["front"]:
        assert option["ns_per_day"] == pytest.approx(2e-6 * 86400 / option["step_seconds"])
        seconds = 50_000_000 * option["step_seconds"]
        assert option["cost"] == pytest.approx(seconds / 3600 * 2.5 * option["gpus"])


@pytest.mark.parametrize(
    ("old", "new", "model", "said"),
    [
        ("", "", "grid", "timestep_fs: missing; ns needs it"),
        (
            "    gpus: 8",
            "    gpus: 8\n    peak_flops: 1e13",
            "md",
            "peak_flops: md is of a program",
        ),
        ("deadline: 4d", "efficiency: 0.999\n    machines: [cluster]", "md", None),
    ],
)
def test_what_such_a_program_cannot_tell_a_plan_is_named_with_its_line(
    run: Run, folder: Path, plan: Path, old: str, new: str, model: str, said: str | None
) -> None:
    plan.write_text(PLAN.replace(old, new) if old else PLAN)
    answer = run("plan", plan, folder / f"{model}.json")
    if said is None:
        assert answer[0] == 0  # one GPU is as efficient as itself
    else:
        assert_refused(answer, said, "plan.yaml:")


def test_the_sizes_from_which_gpus_are_efficient_are_those_of_a_scan(
    run: Run, folder: Path, plan: Path
) -> None:
    plan.write_text(PLAN.split("jobs:")[0] + "iso_efficiency: 0.6\n")
    _, out, _ = run("plan", plan, folder / "md.json", "--json")
    (machine,) = only_json(out)["iso_efficiency"]["machines"]
    model = md()
    for size in machine["sizes"]:
        if size["reached"] != "from":
            continue
        for n, efficient in ((size["n"] * 0.99, False), (size["n"] * 1.01, True)):
            one = model.forecasts([n], [1]).seconds[0]
            several = model.forecasts([n], [size["gpus"]]).seconds[0]
            assert bool(one >= 0.6 * size["gpus"] * several) is efficient
        assert size["low"] <= size["n"]


def test_a_report_shows_forms_and_no_parameters(run: Run, folder: Path) -> None:
    page = folder / "page.html"
    status, _, _ = run("report", folder / "md.json", "--data", folder / "md.jsonl", "-o", page)
    assert status == 0
    text = page.read_text(encoding="utf-8")
    assert "How many GPUs should n atoms get?" in text
    assert "<h3>Forms</h3>" in text
    assert "forecasts without N = 4 missed it by" in text or "Beyond n" in text
    body = text.split('<script type="application/json"')[0]
    for word in ("<h3>Parameters</h3>", "s_next", "T<sub>gpu</sub>", "n, particles"):
        assert word not in body


def test_no_figure_shows_gflops_or_parts_that_nobody_measured(run: Run, folder: Path) -> None:
    inputs = (folder / "md.json", folder / "md.jsonl")
    assert_refused(
        run("figures", "gflops", *inputs, "-o", folder / "a.png"), "not known", "figures steps"
    )
    assert_refused(
        run("figures", "shares", *inputs, "-o", folder / "b.png"),
        "no phase of that size was timed",
    )
    status, _, _ = run("figures", "steps", *inputs, "-o", folder / "c.svg")
    assert status == 0
    drawn = (folder / "c.svg").read_text(encoding="utf-8")
    assert "number of atoms" in drawn
