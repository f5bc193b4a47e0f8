"""Uncertain answers say so, and name the cell that would settle them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, only_json
from gpucast.answers.caveats import caveats
from gpucast.answers.doubts import by_form, of_best
from gpucast.model.fitted import Model
from made_data import dataset
from other_programs import COUNTS, SIZES, cutoff, fitted, md, records

SMALL = 96_000.0


def known_also(n: float, gpus: int) -> Model:
    """The fit of ``md`` with another cell, a step of the true program."""
    cell = {"kind": "step", "machine": "m", "path": "native", "n": n, "gpus": gpus,
            "program": "md", "unit": "atoms", "seconds": [cutoff(n, gpus)] * 3}  # fmt: skip
    more = dataset([{"kind": "machine", "id": "m"}, cell]).steps
    every = records(timestep=None)
    every.records.extend(more)
    return fitted(every)


def fold(model: Model, n: float, gpus: int) -> float:
    forecasts = model.forecasts([n], [gpus])
    return float(forecasts.mean_high[0] / forecasts.mean_low[0])


def test_nothing_is_said_of_what_is_known_well() -> None:
    assert gc.doubts(md(), SIZES, COUNTS) == []
    assert gc.doubts(md(), [SMALL, 2e6], [1, 4, 8]) == []


@pytest.mark.parametrize("gpus", [16, 32])
def test_a_time_that_may_be_anything_names_a_cell_that_narrows_it_as_it_says(gpus: int) -> None:
    """1, 2 and 4 GPUs were timed; the program's true time in the named cell is added."""
    (doubt,) = gc.doubts(md(), SMALL, gpus)
    assert doubt.fold == pytest.approx(fold(md(), SMALL, gpus))
    assert doubt.fold > 4
    assert "beyond 4 GPUs time may change" in doubt.why
    known = doubt.settling
    assert known is not None
    own = float(md().forecasts([SMALL], [gpus]).seconds[0])
    assert known.gpus * known.seconds < gpus * own
    narrowed = fold(known_also(known.n, known.gpus), SMALL, gpus)
    assert narrowed < 0.7 * doubt.fold
    assert narrowed < 1.1 * known.after < doubt.fold


def test_a_size_that_is_not_whole_may_be_in_doubt() -> None:
    (doubt,) = gc.doubts(md(), SMALL + 0.5, 16)
    assert doubt.n == SMALL + 0.5


def test_how_far_is_too_far_is_the_users_to_say() -> None:
    wide = fold(md(), SMALL, 8)
    assert 1 < wide < 2
    assert gc.doubts(md(), SMALL, 8, within=1.01 * wide) == []
    (doubt,) = gc.doubts(md(), SMALL, 8, within=0.99 * wide)
    assert (doubt.n, doubt.gpus) == (SMALL, 8)


def test_forms_that_fit_alike_are_named_where_they_make_the_interval_wide() -> None:
    """One size was timed, up to 4 GPUs: does the constant part of a step grow with the size?"""
    few = 12_000.0
    model = fitted(records(sizes=[few]))
    (doubt,) = gc.doubts(model, 1e5, 4)
    (first, low), (second, high) = doubt.forms.items()
    weights = {one.form: one.weight for one in by_form(model, np.array([1e5]), np.array([4.0]))}
    assert sum(weights.values()) == pytest.approx(1)
    assert min(weights[first], weights[second]) >= 0.2 * max(weights.values())
    assert doubt.low < low < high < doubt.high
    assert (high / low) ** 2 >= doubt.fold
    assert doubt.settling is not None
    assert few < doubt.settling.n < 1e5
    assert first in str(doubt)


def test_forms_by_themselves_average_to_the_forecast() -> None:
    for model in (md(), gc.fit("dscuda", path="infiniband")):
        n, gpus = np.array([2000.0, 8000.0]), np.array([1.0, 1.0])
        forms = by_form(model, n, gpus)
        assert len(forms) > 1
        mean = sum(one.weight * np.log(one.seconds) for one in forms)
        assert np.exp(mean) == pytest.approx(model.forecasts(n, gpus).seconds, rel=0.1)


def test_a_best_count_that_loses_much_by_not_being_the_best_is_in_doubt() -> None:
    """16 and 32 GPUs seem equally fast, and either may be twice as slow."""
    counts = [1, 2, 4, 8, 16, 32]
    doubt = of_best(md(), md().best_counts([SMALL], counts), counts)
    assert doubt is not None
    assert doubt.probability < 0.5
    assert doubt.settling is not None
    assert doubt.settling.after < 0.5 * doubt.loses
    assert of_best(md(), md().best_counts(SIZES, COUNTS), COUNTS) is None


def test_what_is_known_least_is_said_beside_other_caveats() -> None:
    n, gpus = np.full(3, SMALL), np.array([4.0, 8.0, 16.0])
    (doubt,) = gc.doubts(md(), SMALL, 16)
    assert str(doubt) in caveats(md(), n, gpus)
    assert str(doubt) not in caveats(md(), n[:2], gpus[:2])


def test_predict_marks_what_is_in_doubt_and_says_what_to_measure(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "md.json"
    md().save(model)
    asked = ("predict", model, "-n", "96000", "--gpus", "4,8,16")
    status, out, _ = run(*asked)
    assert status == 0
    forecasts = out.split("\n\n")[0].splitlines()
    marks = {line.split()[2]: line.split()[-1] for line in forecasts[2:5]}
    assert (marks["8"], marks["16"]) == ("*", "?*")
    (doubt,) = gc.doubts(md(), SMALL, 16)
    assert forecasts[-1] == f"? {md().name}: {doubt}"
    assert "?" not in run(*asked[:-1], "4,8")[1]
    assert "?" not in run(*asked, "--within", "20")[1]
    answer = only_json(run(*asked, "--json")[1])
    assert [row["doubtful"] for row in answer["forecast"]] == [False, False, True]
    (row,) = answer["doubts"]
    assert row["text"] == str(doubt)
    assert row["settling"]["after"] < row["fold"]
    assert only_json(run(*asked[:-1], "4,8", "--json")[1])["doubts"] == []
    assert str(doubt) not in " ".join(caveat["text"] for caveat in answer["caveats"])


def test_predict_says_that_a_best_count_is_in_doubt(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "md.json"
    md().save(model)
    asked = ("predict", model, "--best", "-n", "96000", "--gpus")
    assert "? md: n = 96000: " in run(*asked, "1,2,4,8,16,32")[1]
    assert "?" not in run(*asked, "1,2,4")[1]


def test_a_factor_of_one_is_refused(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "md.json"
    md().save(model)
    status, _, err = run("predict", model, "-n", "96000", "--within", "1")
    assert status == 2
    assert "--within" in err
