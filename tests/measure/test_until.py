"""When a campaign with a question ends: which answers count as sure, and what it leaves."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import gpucast
import other_programs
from command_line import Run, only_json
from described_programs import described
from gpucast.cli.measure_options import Common, question
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.errors import InputError
from gpucast.measure.design.cells import Cell
from gpucast.measure.design.questions import Answer, Question, answer
from gpucast.measure.until import Plan, Until, ended_by
from gpucast.model.fitted import Model
from gpucast.util.gpu_shares import CORE

SERIES = StepSelection(path="native", program="md")
CELLS = [Cell(SERIES, n, gpus) for n in other_programs.SIZES for gpus in other_programs.COUNTS]


def fitted(cells: list[Cell], sigma: float = 0.01) -> Model:
    """A made-up program at these cells; its best count for 409000 atoms is 2."""
    data = other_programs.records(sigma=sigma)
    kept = {(cell.n, cell.gpus) for cell in cells}
    records = [r for r in data.records if not isinstance(r, Step) or (r.n, r.gpus) in kept]
    return gpucast.fit(replace(data, records=records), replicates=0)


@dataclass(frozen=True)
class Drawn:
    """A model that is known by draws of the times of one n, a column a GPU count."""

    times: NDArray[np.float64]

    @property
    def draw_count(self) -> int:
        return len(self.times)

    def draws(self, n: NDArray[np.float64], gpus: object, count: int) -> NDArray[np.float64]:
        assert (count, n.size) == self.times.shape
        return self.times

    def best_counts(self, n: object, counts: list[int]) -> list[dict[str, Any]]:
        at = int(np.argmin(np.median(self.times, axis=0)))
        share = float(np.mean(np.argmin(self.times, axis=1) == at))
        return [{"n": 1e6, "gpus": counts[at], "probability": share}]


def test_a_best_count_is_sure_by_its_probability_or_by_what_a_wrong_one_costs() -> None:
    """One GPU takes 1 in three of four draws and 1.2 in the others; two always take 1.1."""
    times = np.tile([[1.0, 1.1], [1.0, 1.1], [1.0, 1.1], [1.2, 1.1]], (100, 1))
    model = cast(Model, Drawn(times))
    asked = Question("best", (1e6,), (1, 2), within=0.01, surely=0.95)
    result = answer(model, asked)
    assert result.probability == 0.75
    assert result.open == pytest.approx((1.2 / 1.1 - 1) / 4)  # 2.3 %
    assert not result.sure
    assert answer(model, replace(asked, surely=0.75)).sure
    assert answer(model, replace(asked, within=0.023)).sure
    assert result.text == "1 GPU, 75 % sure, on average 2.3 % slower than the fastest"
    assert answer(model, asked, device=CORE).text.startswith("1 core, 75 % sure")


def test_a_forecast_is_sure_once_its_interval_is_narrow_enough() -> None:
    model = other_programs.md()
    (row,) = model.forecast(409_000, 2).to_dict("records")
    half = (row["mean_high"] - row["mean_low"]) / (2 * row["seconds"])
    asked = Question("forecast", (409_000,), (2,))
    result = answer(model, replace(asked, within=1.1 * half))
    assert result.open == pytest.approx(half, rel=0.02)
    assert result.sure
    assert not answer(model, replace(asked, within=half / 1.1)).sure


def test_what_names_no_size_or_count_is_about_all_that_is_measured() -> None:
    about = Question("best").about([(2000, 1), (1000, 4), (1000, 1)])
    assert (about.n, about.gpus) == ((1000, 2000), (1, 4))


def test_one_fit_that_seems_sure_is_not_enough_two_in_a_row_are() -> None:
    visits: Counter[Cell] = Counter()
    asked = [Question("best", (1_067_000,))]
    until = Until(asked, CELLS, lambda cell: 1.0, visits, most=6)
    until.update(None, CELLS, "too few cells")
    assert until.answers[0].text == "no answer yet: too few cells"
    seen: list[bool] = []
    for count in (4, 8, 10, 12):
        visits.update(cell for cell in CELLS[:count] if not visits[cell])
        until.update(fitted(CELLS[:count]) if count > 4 else None, CELLS[count:])
        seen.append(until.reached)
    assert seen == [False, False, True, True]
    assert until.seconds_left(lambda cell: 1.0) == 0

    again = Until(asked, CELLS, lambda cell: 1.0, visits, most=6)
    again.update(fitted(CELLS), [])  # of what the file has
    assert ended_by({SERIES: again}) == "sure"


def test_of_fewer_cells_than_a_start_design_nothing_is_sure() -> None:
    visits = Counter(CELLS[:5])
    until = Until([Question("best", (1e6,))], CELLS, lambda cell: 1.0, visits, most=6)
    for _ in range(3):
        until.update(fitted(CELLS), CELLS[5:])
    assert not until.reached
    assert until.plan is None
    (line,) = until.in_words(lambda cell: 1.0)
    assert line.endswith("; too few cells yet to be sure")


def test_a_plan_says_which_visits_would_be_enough_and_what_they_cost() -> None:
    started = [CELLS[i] for i in (0, 2, 4, 6, 9, 11)]
    visits = Counter(started)
    model = fitted(started)
    asked = Question("forecast", (409_000,), (4,))
    wide = answer(model, asked).open
    until = Until([replace(asked, within=0.8 * wide)], CELLS, lambda cell: 2.0, visits, most=6)
    until.update(model, CELLS)
    assert until.plan.enough
    takes = until.seconds_left(lambda cell: 2.0)
    assert takes == 2.0 * len(until.plan.enough)
    (line,) = until.in_words(lambda cell: 2.0)
    assert f"after about {len(until.plan.enough)} more visit" in line
    assert max(Counter(until.plan.order).values()) <= 6


def test_what_visits_would_bring_is_said_in_the_words_of_the_question() -> None:
    asked = [
        Question("best", (1e6,), within=0.01, text="best n=1e6"),
        Question("forecast", (1e6,), (4,), within=0.05, text="forecast n=1e6 gpus=4"),
    ]
    until = Until(asked, CELLS, lambda cell: 2.0, Counter(CELLS), most=6)
    until.answers = [
        Answer("best n=1e6", False, "2 GPUs, 81 % sure", open=0.024),
        Answer("forecast n=1e6 gpus=4", False, "3 ms ± 12 %", open=0.12),
    ]

    def planned(enough: list[Cell] | None, *shares: float | None) -> list[str]:
        known = [share for share in shares if share is not None]
        until.plan = Plan(CELLS[:3], [1.0] * 3, enough, max(known), shares)
        return until.outlooks(lambda cell: 2.0)

    assert planned(None, 0.75, 0.5) == [
        "3 more visits would bring it to about 1.8 %, sure enough is 1 %",
        "3 more visits would bring it to about ± 6 %, sure enough is ± 5 %",
    ]
    assert planned(None, 1.0, None) == [
        "3 more visits of these cells would hardly help; cells nearer to the question may",
        "what it takes is not known yet",
    ]
    assert planned(CELLS[:2], 0.4, 0.4) == ["sure enough after about 2 more visits, 4 s"] * 2
    until.answers[0] = replace(until.answers[0], sure=True)
    assert planned(None, None, 0.5)[0] == "sure enough"
    assert until.in_words(lambda cell: 2.0)[1] == (
        "forecast n=1e6 gpus=4? 3 ms ± 12 %; "
        "3 more visits would bring it to about ± 6 %, sure enough is ± 5 %"
    )


def test_where_no_visit_makes_it_surer_the_campaign_ends_unsure() -> None:
    """A hundred times the largest size: the cells here soon tell all they can about it."""
    visits = Counter(CELLS)
    asked = [Question("forecast", (1e8,), (64,), within=1e-4)]
    until = Until(asked, CELLS, lambda cell: 1.0, visits, most=2)
    model = fitted(CELLS)
    ends = []
    for _ in range(4):
        until.update(model, CELLS[:1])
        ends.append(ended_by({SERIES: until}))
    assert ends[0] is None
    assert ends[-1] == "unsure"
    assert until.seconds_left(lambda cell: 1.0) is None
    assert "would hardly help" in until.outlooks(lambda cell: 1.0)[0]
    until.update(model, [])
    assert until.outlooks(lambda cell: 1.0) == ["all visits are made, --visits allows more"]


READ = [
    ("best", Question("best", within=0.01, text="best")),
    ("best  n=3e6", Question("best", (3e6,), within=0.01, text="best n=3e6")),
    (
        "best gpus=1-3,8 surely=0.9 n=1e6,3e6 within=2%",
        Question("best", (1e6, 3e6), (1, 2, 3, 8), 0.02, 0.9),
    ),
    ("forecast n=3e6 gpus=8 within=10%", Question("forecast", (3e6,), (8,), 0.1)),
]


@pytest.mark.parametrize(("text", "meant"), READ)
def test_questions_are_read(text: str, meant: Question) -> None:
    assert replace(question(text), text=meant.text) == meant


REFUSED = [
    ("", "begins with neither 'best' nor 'forecast'"),
    ("fastest n=3", "begins with neither 'best' nor 'forecast'"),
    ("best 3e6", "'3e6' in 'best 3e6' is none of n=, gpus=, within=, surely="),
    ("forecast surely=9%", "is none of n=, gpus=, within="),
    ("best n=", "'n=' in 'best n=' is none of"),
    ("best n=1 n=2", "n= is twice"),
    ("best n=-3", "'-3' is no number greater than 0"),
    ("best gpus=1.5", "'1.5' is no whole number"),
    ("forecast within=0", "within=0 is no share between 0 % and 100 %"),
    ("forecast within=120%", "within=120% is no share"),
    ("best surely=nan", "surely=nan is no share"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_is_no_question_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        question(text)
    assert said in str(error.value)
    assert error.value.field == "--until"


def test_a_question_that_is_there_twice_is_asked_once() -> None:
    asked = Common(machine=None, budget=None, until=["best", "best", "forecast"])
    assert len(asked.bounds()["until"]) == 2


LARGER = ("sizes: [1000, 2000, 4000]", "sizes: [1000, 2000, 4000, 8000, 16000]")


def test_a_program_is_measured_until_the_best_count_is_sure(run: Run, tmp_path: Path) -> None:
    program, path = described(tmp_path, LARGER), tmp_path / "data.jsonl"
    measure = ("measure", "--program", program, "--until", "best n=64000", "--json", "-o", path)
    status, out, err = run(*measure)
    assert status == 0, err
    summary = only_json(out)
    (path_report,) = summary["paths"]
    assert path_report["status"] == "sure"
    assert 6 <= summary["measured"] < 6 * 10
    (answered,) = summary["answers"]
    assert (answered["question"], answered["sure"], answered["seconds_left"]) == (
        "best n=64000",
        True,
        0,
    )
    assert answered["text"].startswith("2 cores")  # path host
    assert "best n=64000? 2 cores" in err

    status, out, _ = run(*measure)
    assert (status, only_json(out)["measured"]) == (0, 0)


def test_a_budget_is_an_upper_bound_and_what_more_would_take_is_said(
    run: Run, tmp_path: Path
) -> None:
    program, path = described(tmp_path, LARGER), tmp_path / "data.jsonl"
    status, out, err = run(
        "measure", "--program", program, "--until", "forecast n=1e9 gpus=2 within=0.01%",
        "--gpu-hours", 1e-6, "-o", path,
    )  # fmt: skip
    assert status == 0, err
    assert "budget" in out
    assert "forecast n=1e9 gpus=2 within=0.01%? " in out
    assert "not sure enough" in out


def test_our_own_programs_can_be_asked_too(run: Run, tmp_path: Path) -> None:
    status, out, err = run(
        "measure", "--paths", "host:2", "--schedules", "allgather", "--kernels", "tuned",
        "-n", "216,512,1000", "--no-transfers", "--until", "best n=1000 within=50%",
        "--json", "-o", tmp_path / "own.jsonl",
    )  # fmt: skip
    assert status == 0, err
    (answered,) = only_json(out)["answers"]
    assert (answered["series"], answered["sure"]) == ("allgather tuned pinned", True)
    assert "core" in answered["text"]
