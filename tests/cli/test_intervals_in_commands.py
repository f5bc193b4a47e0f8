"""``--interval`` of the commands that forecast, and ``gpucast fit MODEL --update CELLS``."""

import json
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, answer_of, assert_refused, files_of, only_json
from made_data import dataset, machine, step, whole
from other_programs import md

CELLS = ((1000, 4), (8000, 4), (64000, 1))
HOST = 1.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """native.json and md.json: models; cells.jsonl: three cells, a tenth slower; host.jsonl and
    host.csv: the same cells with the host's part half as long again."""
    where = tmp_path_factory.mktemp("intervals")
    model = gc.fit(whole(), replicates=40)
    model.save(where / "native.json")
    md().save(where / "md.json")
    forecasts = model.forecasts(*zip(*CELLS, strict=True))
    for name, seconds in (
        ("cells", 1.1 * forecasts.seconds),
        ("host", forecasts.seconds + (HOST - 1) * forecasts.t_cpu),
    ):
        times = dict(zip(CELLS, seconds.tolist(), strict=True))
        records = [step(*cell, [time], machine="box-2") for cell, time in times.items()]
        dataset([machine(name="box-2"), *records], name=name).dump(where / f"{name}.jsonl")
        lines = [f"{n},{gpus},{time}" for (n, gpus), time in times.items()]
        (where / f"{name}.csv").write_text("\n".join(["n,gpus,seconds", *lines]) + "\n")
    (where / "plan.yaml").write_text(
        "machines:\n  - {name: native, gpus: 4, price_per_gpu_hour: 2}\n"
        "jobs:\n  - {name: a, n: 8000, steps: 1000000}\n"
    )
    return where


def widths(run: Run, folder: Path, *options: str, model: str = "native.json") -> list[float]:
    status, out, err = run(
        "predict", folder / model, "-n", "1000,64000", "--gpus", "1,4", "--json", *options
    )
    assert status == 0, err
    return [row["high"] / row["low"] for row in only_json(out)["forecast"]]


@pytest.mark.parametrize("model", ["native.json", "md.json"])
def test_intervals_of_predict_are_nested_and_now_is_the_default(
    run: Run, folder: Path, model: str
) -> None:
    by_interval = {
        interval: widths(run, folder, "--interval", interval, model=model)
        for interval in ("now", "later", "machine")
    }
    assert widths(run, folder, model=model) == by_interval["now"]
    for now, later, there in zip(*by_interval.values(), strict=True):
        assert now < later < there


def test_tables_say_which_interval_they_show(run: Run, folder: Path) -> None:
    for interval, words in (("now", "90 % interval  "), ("machine", "interval, another machine")):
        _, out, _ = run(
            "predict", folder / "native.json", "-n", "1000", "--gpus", "1", "--interval", interval
        )
        assert words in out


def test_commands_answer_which_interval_they_are_of(run: Run, folder: Path) -> None:
    model, data = folder / "native.json", folder / "cells.jsonl"
    asked = {
        ("predict", model, "-n", "1000"): "now",
        ("compare", model, folder / "native.json", "-n", "1000"): "now",
        ("validate", model, data): "now",
        ("plan", folder / "plan.yaml", model): "later",
    }
    for arguments, usual in asked.items():
        for options, expected in (((), usual), (("--interval", "machine"), "machine")):
            assert answer_of(run(*arguments, *options, "--json"))["interval"] == expected


def test_a_plan_may_say_it_itself(run: Run, folder: Path, tmp_path: Path) -> None:
    text = (folder / "plan.yaml").read_text()
    for interval in ("now", "machine"):
        (tmp_path / "plan.yaml").write_text(f"interval: {interval}\n{text}")
        _, out, _ = run("plan", tmp_path / "plan.yaml", folder / "native.json", "--json")
        assert only_json(out)["interval"] == interval
    (tmp_path / "plan.yaml").write_text(f"interval: tomorrow\n{text}")
    refused = run("plan", tmp_path / "plan.yaml", folder / "native.json")
    assert_refused(refused, "plan.yaml:1: interval", "tomorrow", "now, later, machine")


def test_a_report_says_what_its_intervals_hold(run: Run, folder: Path, tmp_path: Path) -> None:
    arguments = ("report", folder / "native.json", "-n", "1000,8000", "--gpus", "1,2")
    for interval, words in (("now", "single steps take"), ("machine", "on other machines of")):
        page = tmp_path / f"{interval}.html"
        assert run(*arguments, "-o", page, "--interval", interval)[0] == 0
        assert words in page.read_text()


# ---- fit --update ----


@pytest.mark.parametrize("cells", ["host.jsonl", "host.csv"])
def test_an_update_moves_forecasts_and_predict_says_so(
    run: Run, folder: Path, tmp_path: Path, cells: str
) -> None:
    new = tmp_path / "new.json"
    status, out, err = run("fit", folder / "native.json", "--update", folder / cells, "-o", new)
    assert status == 0, err
    assert "T_cpu" in out
    assert "updated by 3 cells of" in out
    before, after = gc.load_model(folder / "native.json"), gc.load_model(new)
    was, now = (fitted.forecasts(*zip(*CELLS, strict=True)) for fitted in (before, after))
    slower = 1 + (HOST - 1) * was.t_cpu / was.seconds
    # Most of the way to the timed cells, and never far beyond.
    moved = np.log(now.seconds / was.seconds) / np.log(slower)
    assert (moved > 0.5).all()
    assert (moved < 1.2).all()
    _, out, err = run("predict", new, "-n", "1000", "--json")
    (update,) = only_json(out)["updated"]
    assert update["text"].startswith("updated by 3 cells of")
    assert update["text"] in err
    assert (
        only_json(run("predict", folder / "native.json", "-n", "1000", "--json")[1])["updated"]
        == []
    )


def test_an_update_prints_the_model_as_a_fit_does(run: Run, folder: Path) -> None:
    _, out, _ = run("fit", folder / "native.json", "--update", folder / "cells.jsonl", "--json")
    factors = only_json(out)["machine_factors"]
    assert factors["machine"] == "box-2"
    assert factors["cells"]["n"] == [1000, 8000, 64000]
    assert len(factors["means"]) == 3


def test_a_program_known_by_its_total_has_one_factor(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    seconds = 1.1 * float(md().forecasts([96_000], [2]).seconds[0])
    (tmp_path / "cells.csv").write_text(f"n,gpus,seconds\n96000,2,{seconds}\n")
    status, out, err = run("fit", folder / "md.json", "--update", tmp_path / "cells.csv")
    assert status == 0, err
    assert "T_gpu" not in out
    assert "updated by 1 cell of" in out


def test_updates_that_cannot_be_are_refused_in_a_line(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    model, cells = folder / "native.json", folder / "cells.jsonl"
    new = tmp_path / "new.json"
    other = dataset([machine(), step(1000, 1, [1e-3], schedule="allgather")], name="other")
    other.dump(tmp_path / "other.jsonl")
    (tmp_path / "none.csv").write_text("n,gpus,seconds\n")
    before = files_of(tmp_path)
    update = ("fit", model, "--update")
    assert_refused(run(*update, tmp_path / "other.jsonl", "-o", new), "schedule allgather")
    assert_refused(run(*update, tmp_path / "none.csv", "-o", new), "none.csv")
    assert_refused(run(*update, tmp_path / "missing.csv", "-o", new), "missing.csv")
    assert_refused(run("fit", cells, "--update", cells, "-o", new), "holds records, not a model")
    assert_refused(run("fit", model, model, "--update", cells), "one model file")
    assert_refused(run(*update, cells, "--model", "paper", "-o", new), "leave out --model")
    assert_refused(run(*update, cells, "--seed", "3", "-o", new), "--seed")
    assert files_of(tmp_path) == before


def test_what_if_of_an_updated_model_is_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.json"
    run("fit", folder / "native.json", "--update", folder / "cells.jsonl", "-o", new)
    refused = run("what-if", new, "--transfers", folder / "cells.jsonl", "-o", tmp_path / "w.json")
    assert_refused(refused, "updated by 3 cells of box-2", "the model that was fitted")
    assert json.loads(new.read_text())["machine_factors"]["machine"] == "box-2"
