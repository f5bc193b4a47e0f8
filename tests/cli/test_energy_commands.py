"""Energy in the answers of commands, for a program whose GPUs take 400 W each."""

import json
from pathlib import Path

import pytest

import gpucast as gc
from command_line import Run, answer_of, assert_refused, only_json

COUNTS = (1, 2, 4, 8)


def seconds_of(n: float, gpus: int) -> float:
    return 1e-3 + 2e-8 * n / gpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """metered.json, and dark.json with the same steps without joules."""
    where = tmp_path_factory.mktemp("energy")
    for name, watts in (("metered", 400), ("dark", None)):
        lines: list[object] = [{"kind": "machine", "id": "m", "gpus": [{"name": "a GPU"}]}]
        for n in (1e4, 1e5, 1e6, 1e7):
            for gpus in COUNTS:
                for factor in (0.99, 1.01, 1.0):
                    time = seconds_of(n, gpus) * factor
                    step = {"kind": "step", "machine": "m", "path": "native", "program": "toy",
                            "n": n, "gpus": gpus, "seconds": [time]}  # fmt: skip
                    lines.append(step | ({"joules": watts * gpus * time} if watts else {}))
        records = ({"schema": "gpucast.record/1"} | line for line in lines)
        data = where / f"{name}.jsonl"
        data.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        gc.fit(gc.load(data)).save(where / f"{name}.json")
    return where


def test_predict_tells_energy_and_the_count_of_least(run: Run, folder: Path) -> None:
    words = ["predict", folder / "metered.json", "-n", "1e5", "--gpus", "1,8"]
    answer = answer_of(run(*words, "--grid-co2", "380", "--energy-price", "0.3", "--json"))
    for row in answer["forecast"]:
        joules = 400 * row["gpus"] * seconds_of(1e5, row["gpus"])
        assert row["joules"] == pytest.approx(joules, rel=0.05)
        assert row["joules_low"] < row["joules"] < row["joules_high"]
        assert row["energy_cost"] == pytest.approx(row["joules"] / 3.6e6 * 0.3)
        assert row["co2_kg"] == pytest.approx(row["joules"] / 3.6e6 * 0.38)
    assert [row["gpus"] for row in answer["best"]] == [8]
    assert [row["gpus"] for row in answer["least_energy"]] == [1]
    _, out, _ = run(*words, "--energy-price", "0.3 EUR")
    assert "1 GPU takes 70 % less than the fastest, 8" in out
    assert "price EUR" in out
    assert_refused(run(*words, "--energy-price", "-1"), "--energy-price", "no amount")


def test_without_joules_answers_say_nothing_of_energy(run: Run, folder: Path) -> None:
    words = ["predict", folder / "dark.json", "-n", "1e5", "--gpus", "1,8"]
    _, out, _ = run(*words, "--json")
    assert "joules" not in out
    assert "least_energy" not in out
    _, out, _ = run(*words)
    assert "Energy" not in out


def test_a_grid_without_joules_is_refused(run: Run, folder: Path) -> None:
    words = ["predict", folder / "dark.json", "-n", "1e5", "--grid-co2", "380"]
    assert_refused(run(*words), "--grid-co2", "no joules")
    plan = folder / "refused.yaml"
    plan.write_text(f"grid_co2: 380\n{plan_of(folder, 'dark').read_text()}")
    assert_refused(run("plan", plan), "refused.yaml", "grid_co2", "no joules")


def plan_of(folder: Path, model: str) -> Path:
    plan = folder / f"{model}.yaml"
    machine = f"{{name: here, model: {model}.json, gpus: 8, price_per_gpu_hour: 2}}"
    jobs = "[{name: a, n: 1e5, steps: 1e7}]"
    grid = "price_per_kwh: 0.3\ngrid_co2: 380\n" if model == "metered" else ""
    plan.write_text(f"{grid}machines: [{machine}]\njobs: {jobs}\n")
    return plan


def test_a_plan_tells_energy_of_each_option(run: Run, folder: Path) -> None:
    (job,) = answer_of(run("plan", plan_of(folder, "metered"), "--json"))["jobs"]
    kwh = 1e7 * 400 * 8 * seconds_of(1e5, 8) / 3.6e6
    assert job["fastest"]["gpus"] == 8
    assert job["fastest"]["kwh"] == pytest.approx(kwh, rel=0.05)
    assert job["fastest"]["co2_kg"] == pytest.approx(0.38 * job["fastest"]["kwh"])
    assert job["fastest"]["energy_cost"] == pytest.approx(0.3 * job["fastest"]["kwh"])
    assert job["least_energy"]["gpus"] == 1
    _, out, _ = run("plan", plan_of(folder, "dark"), "--json")
    assert "kwh" not in out
    assert "least_energy" not in out


def test_a_proposal_tells_energy_of_its_runs(run: Run, folder: Path) -> None:
    words = ["proposal", folder / "metered.json", "-n", "1e7", "--gpus", "1,2,4,8", "--json"]
    status, out, _ = run(*words, "--grid-co2", "380", "-o", folder / "proposal")
    jobs = {job["choice"]: job for job in only_json(out)["jobs"]}
    assert status == 0
    alone = jobs["least energy"]
    kwh = 1e6 * 400 * alone["gpus"] * seconds_of(1e7, alone["gpus"]) / 3.6e6
    assert alone["kwh"] == pytest.approx(kwh, rel=0.05)
    assert alone["co2_kg"] == pytest.approx(0.38 * alone["kwh"])
    assert "the host's energy is not in it" in (folder / "proposal" / "proposal.md").read_text()
