"""What a report says, and the file it is written to; test_report_browser.py opens it."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import gpucast
from command_line import Run, assert_refused, files_of, only_json
from gpucast.answers.advice import for_question, in_words, next_cells
from gpucast.answers.comparison import compare
from gpucast.answers.validation import validate
from gpucast.data.thinning import coarsened
from gpucast.errors import InputError
from gpucast.measure.design.next_cells import Advice, Ask, NextCell
from gpucast.model.files import load_model
from gpucast.model.fitted import Model
from gpucast.model.values import TimedCells
from gpucast.paths.what_if import what_if
from gpucast.show.report import curves
from gpucast.show.report.content import content
from gpucast.show.report.render import page
from gpucast.util.remarks import Kind, remark
from gpucast.util.typed_json import from_json
from other_programs import SIZES, cutoff, fitted, md, records
from report_pages import HOSTILE, h200, jumping, slower

# ---- curves ----


def test_interpolated_times_are_near_at_every_n_also_where_the_curve_jumps() -> None:
    _, model = jumping()
    sizes = np.unique(np.round(np.geomspace(1000, 256000, 40)))
    for gpus in (1, 3):
        drawn = curves.curve(model, gpus, sizes)
        n = np.arange(1000.0, 256000.0)
        true = model.forecasts(n, np.full(n.size, float(gpus))).seconds
        between = np.exp(
            np.interp(np.log(n), np.log(drawn.forecasts.n), np.log(drawn.forecasts.seconds))
        )
        assert np.max(np.abs(true[1:] / true[:-1] - 1)) > 0.03  # it does jump
        assert np.max(np.abs(between / true - 1)) < 0.004
        assert set(sizes) <= set(drawn.forecasts.n)


def test_both_sides_of_a_jump_are_points() -> None:
    def log_time(n: np.ndarray) -> np.ndarray:
        return np.log(np.where(n <= 5000, 1.0, 2.0))

    points = curves.refined(log_time, np.array([10.0, 100000.0]))
    assert {5000.0, 5001.0} <= set(points)
    kept = curves.thinned(points, log_time(points), np.array([10.0, 100000.0]))
    assert list(kept) == [10.0, 5000.0, 5001.0, 100000.0]


def test_a_straight_line_needs_its_ends_only() -> None:
    points = curves.refined(lambda n: 2 * np.log(n), np.array([10.0, 100000.0]))
    assert list(points) == [10.0, 100000.0]


# ---- content ----


def test_curves_and_table_are_the_models_own_forecasts() -> None:
    data, model = jumping()
    report = content([model], data)
    shown = report["models"][0]
    assert [curve["gpus"] for curve in shown["curves"]] == report["gpus"] == list(range(1, 9))
    for curve in shown["curves"]:
        forecasts = model.forecasts(curve["n"], [curve["gpus"]] * len(curve["n"]))
        assert curve["seconds"] == pytest.approx(forecasts.seconds, rel=1e-5)
        high = np.array(curve["seconds"]) * curve["high"]
        assert high == pytest.approx(forecasts.high, rel=1e-4)
        assert np.array(curve["gpu"]) * forecasts.seconds == pytest.approx(
            forecasts.t_gpu, rel=1e-3
        )
        assert set(report["n"]["values"]) <= set(curve["n"])
    for row in report["table"]:
        best = model.best_counts([row["n"]], range(1, 5))[0]
        assert row["choices"][0]["gpus"] == best["gpus"]
        assert row["choices"][0]["probability"] == best["probability"]
    assert report["n"]["start"] == data.steps[-1].n  # the largest that was fitted


def test_probabilities_are_among_the_counts_that_may_be_chosen() -> None:
    _, model = jumping()
    report = content([model], sizes=[1000, 64000], gpus=[1, 2, 3, 4])
    shares = report["models"][0]["shares"]
    for most in (2, 4):
        for at in (0, len(report["n"]["values"]) - 1):
            best = model.best_counts([report["n"]["values"][at]], range(1, most + 1))[0]
            assert len(shares[most - 1][at]) == most
            assert shares[most - 1][at][best["gpus"] - 1] == pytest.approx(
                best["probability"], abs=1e-3
            )


def test_where_cells_refute_a_model_the_page_answers_as_the_commands_do() -> None:
    """One and two GPUs took as long: the page was as sure of four as the model alone is."""
    _, model = jumping()
    n = 63_000.0
    one = float(model.forecasts([n], [1]).seconds[0])
    model = replace(model, cells=TimedCells(n=[n, n], gpus=[1, 2], seconds=[one, 0.9 * one]))
    report = content([model], sizes=[1000, 100_000], gpus=[1, 2, 3, 4])
    shown, at = report["models"][0], report["n"]["values"].index(n)
    for most in (2, 3, 4):
        counts = np.arange(1.0, most + 1)
        size = np.array([n])
        expected = model.believed_shares(size, counts)[1][0]
        assert shown["shares"][most - 1][at] == pytest.approx(expected, abs=1e-3)
    assert model.best_shares(size, counts)[0] != pytest.approx(expected, abs=0.05)
    best = model.best_counts([n], [1, 2, 3, 4])[0]
    assert shown["shares"][3][at][best["gpus"] - 1] == pytest.approx(best["probability"], abs=1e-3)
    known = {key: shown["believed"][key] for key in ("n", "gpus")}
    assert known == {"n": [n], "gpus": [2]}  # one GPU took what the model says


@pytest.mark.parametrize("counts", [[1, 2, 4], [1, 2, 4, 8, 16]])
def test_a_page_and_the_commands_are_as_sure_where_cells_are_unlike_the_rest(
    counts: list[int],
) -> None:
    model = fitted(records(lambda n, gpus: cutoff(n, gpus) * (1 + (gpus == 4 and n > 1e6))))
    report = content([model], gpus=counts)
    few = [gpus for gpus in counts if gpus <= report["most"]]
    shares = report["models"][0]["shares"][len(few) - 1]
    for n in SIZES:
        best = model.best_counts([n], few)[0]
        share = shares[report["n"]["values"].index(n)][few.index(best["gpus"])]
        assert share == pytest.approx(best["probability"], abs=1e-3)


def test_residuals_are_those_of_validate() -> None:
    data, model = jumping()
    shown = content([model], data)["models"][0]
    assert shown["cells"] == validate(model, data)["cells"]
    assert shown["of_fit"] is True
    other = data.where(lambda step: step.n > 2000)
    assert content([model], other)["models"][0]["of_fit"] is False


def test_models_take_the_measurements_of_their_own_path_only() -> None:
    data = gpucast.load("h200-x4")
    native = data.where(lambda step: step.path == "native")
    first, second = content([h200("native"), h200("remote")], native)["models"]
    assert first["cells"]
    assert second["cells"] == []
    assert (first["label"], second["label"]) == ("native", "remote")
    with pytest.raises(InputError, match="no steps of path 'remote'"):
        content([h200("remote")], native)


def test_a_what_if_is_held_against_steps_that_it_was_not_fitted_to() -> None:
    data = coarsened(gpucast.load("h200-x4"))
    forecast = what_if(h200("native"), data, path="remote", machine="h200-f/remote")
    shown = content([h200("native"), forecast], data)["models"][1]
    assert shown["label"] == "remote (what if)"
    assert shown["of_fit"] is False
    assert {cell["n"] for cell in shown["cells"]} == {
        step.n
        for step in data.steps
        if (step.path, step.schedule, step.kernel) == ("remote", "star-async", "tuned")
    }
    assert shown["next"]["commands"] == []


def test_data_that_refute_a_forecast_come_first_of_what_is_to_be_known() -> None:
    data, model = jumping()
    shown = content([model], slower(data, 1.5))["models"][0]
    covered = sum(cell["covered"] for cell in shown["cells"])
    assert shown["refuted"].startswith(f"{covered} of {len(shown['cells'])} cells measured")
    assert shown["caveats"][0] == shown["refuted"]
    assert set(shown["caveat_at"].values()) == {shown["refuted"]}
    assert shown["next"] is None  # its intervals cannot say what to measure
    assert page(content([model], slower(data, 1.5))).count(shown["refuted"]) >= 2
    fitted = content([model], data)["models"][0]
    assert fitted["refuted"] is None
    assert fitted["next"] is not None


def test_what_is_said_of_sizes_beyond_those_fitted_is_said_there_only() -> None:
    model = h200("native")
    assert model.quality is not None
    model = replace(model, quality=replace(model.quality, held_out_n_error=0.3, converged=True))
    caveats = content([model])["models"][0]["caveat_at"]
    assert caveats["n beyond, gpus inside"].startswith("beyond n = 314432: ")
    assert "beyond n = " not in (caveats["n inside, gpus inside"] or "")


def test_a_size_is_not_called_by_the_letter_of_gpu_counts() -> None:
    data, model = jumping()
    shown = content([model], data)
    for place in (at := shown["models"][0]["caveat_at"]):
        at[place] = "n = 4096 on 2 GPUs: open"
    assert ">n = 4096 on 2 GPUs: open." in page(shown)


def test_what_predict_says_of_more_gpus_than_measured_the_page_says_too() -> None:
    model = h200("native")
    assert model.quality is not None
    model = replace(
        model, quality=replace(model.quality, held_out_gpus_error=0.3, held_out_n_error=0.2)
    )
    shown = content([model], gpus=[1, 4, 8])
    caveats = shown["models"][0]["caveat_at"]
    text = "beyond 4 GPUs: forecasts without N = 4 missed it by 30 %; N = 8 lies further out"
    assert caveats["n inside, gpus beyond"] == text == caveats["n beyond, gpus beyond"]
    assert caveats["n beyond, gpus inside"].startswith("beyond n = 314432: ")
    assert text in shown["models"][0]["caveats"]
    for row in shown["table"]:
        (choice,) = row["choices"]
        word = {True: "inside", False: "beyond"}
        n, gpus = word[216 <= row["n"] <= 314432], word[choice["gpus"] <= 4]
        assert choice["place"] == f"n {n}, gpus {gpus}"


def test_the_first_answer_is_of_what_was_asked_about() -> None:
    """The largest size, and as many GPUs as were named, if more were than measured."""
    report = content([h200("native")], sizes=[24_000, 3e6], gpus=range(1, 17))
    assert (report["n"]["start"], report["most"]) == (3_000_000, 16)
    shown = next(row for row in report["table"] if row["n"] == 3_000_000)["choices"][0]
    best = h200("native").best_counts([3e6], range(1, 17))[0]
    assert shown["gpus"] == best["gpus"] > 4


def test_a_time_of_the_page_is_the_forecast_whatever_chose_its_count() -> None:
    """Tables gave the measured time of a measured cell, and the answer the forecast."""
    model = fitted(records(lambda n, gpus: cutoff(n, gpus) * (1.05 if gpus == 2 else 1)))
    for row in content([model])["table"]:
        (choice,) = row["choices"]
        forecasts = model.forecasts([row["n"]], [choice["gpus"]])
        assert choice["seconds"] == pytest.approx(forecasts.seconds[0])


def test_what_is_surely_in_time_is_what_a_plan_would_say() -> None:
    """The page's factor is the one by which a plan lengthens a time to be in time with 90 %, as
    well as 400 draws of other sizes know it."""
    model = h200("native")
    shown = content([model], sizes=[110592, 314432], gpus=[1, 4], interval="later")
    curve = next(drawn for drawn in shown["models"][0]["curves"] if drawn["gpus"] == 4)
    at = curve["n"].index(314432)
    steps = 1_000_000
    limit = curve["seconds"][at] * curve["sure"][at] * steps
    for share, in_time in ((0.96, False), (1.04, True)):
        job = {"name": "run", "n": 314432, "steps": steps, "deadline": limit * share}
        machine = {"name": "box", "gpus": 4, "gpu_counts": [4], "price_per_gpu_hour": 1.0}
        planned = gpucast.plan({"machines": [machine], "jobs": [job]}, {"box": model})
        assert planned.content["jobs"][0]["meets_deadline"] is in_time


def test_extra_time_is_that_of_compare() -> None:
    report = content([h200("native"), h200("remote")], sizes=[1000, 100000], gpus=[1, 2, 4])
    extra = report["extra"][0]
    rows = compare(h200("native"), h200("remote"), [1000.0], [4.0])["ratio"]
    assert extra["ratio"][0][2] == pytest.approx(rows[0]["ratio"], rel=1e-4)
    assert extra["high"][0][2] == pytest.approx(rows[0]["high"], rel=1e-4)


def test_where_one_gpu_was_measured_the_answer_may_take_more_and_says_so() -> None:
    data, _ = jumping()
    model = gpucast.fit(data.where(lambda step: step.gpus == 1), model="paper", replicates=60)
    report = content([model])
    assert report["most"] == 8
    largest = report["table"][-1]["choices"][0]
    assert largest["gpus"] > 1
    assert largest["extrapolated"]


def test_counts_that_the_data_cannot_know_are_left_out() -> None:
    data, _ = jumping()
    alone = data.where(lambda step: step.gpus == 1)
    kept = [record for record in alone.records if record.kind == "step"]
    model = gpucast.fit(replace(alone, records=kept), model="work+linear+allgather", replicates=0)
    with pytest.raises(InputError):
        model.forecasts([1000.0], [2.0])
    report = content([model])
    assert report["gpus"] == [1]
    assert report["models"][0]["shares"] is None


# ---- what to measure next ----


def test_a_model_that_was_fitted_to_no_size_is_shown_over_the_usual_ones() -> None:
    report = content([load_model("reconstructed-2015-native")], None)
    sizes = report["n"]["values"]
    assert sizes[0] == 216
    assert sizes[-1] == 4_000_000
    assert report["n"]["start"] == 1_000_000
    assert all(choice["extrapolated"] for row in report["table"] for choice in row["choices"])


def test_the_next_cells_are_new_and_make_forecasts_surer() -> None:
    data, model = jumping()
    measured = sorted({(step.n, step.gpus) for step in data.steps})
    advice = next_cells(model, measured, 4, data)
    cells = {(cell["n"], cell["gpus"]) for cell in advice["cells"]}
    assert len(cells) == 5
    assert not cells & set(measured)
    assert all(1 <= gpus <= 4 for _, gpus in cells)
    assert advice["after"] < advice["before"]
    assert all(line.startswith("gpucast measure --paths native ") for line in advice["commands"])


def test_cells_for_a_question_are_neither_measured_nor_asked_for() -> None:
    _, model = jumping()
    ask = Ask.forecasts([8000.0], [4.0])
    advice = for_question(model, ask)
    known = {*zip(model.timed.n, model.timed.gpus, strict=True), (8000, 4)}
    assert not {(cell.n, cell.gpus) for cell in advice.cells} & known
    assert advice.after < advice.before


def test_cells_for_a_question_are_about_as_large_as_what_is_asked() -> None:
    """24,000 to 1,067,000 were timed on up to 4 GPUs: 4,268,000, four times the largest, is no help
    for 24,000."""
    ask = Ask.forecasts([24_000.0], [8.0])
    advice = for_question(md(), ask)
    assert {cell.n for cell in advice.cells} <= {24_000, 96_000}
    assert in_words(ask, advice).startswith("measure (n = ")


def test_cells_are_not_said_to_take_a_loss_from_what_it_is_to_the_same() -> None:
    ask = Ask.best_count([96_000.0], [1, 2])
    advice = Advice([NextCell(5e4, 2, 1e-3, 0.01, 1, 1.0)], [0], [0.1], [0.0141, 0.0139])
    assert in_words(ask, advice) == "no few cells make this surer; (n = 50000, N = 2) tell most"


def test_nothing_needs_measuring_for_a_best_count_that_is_certain() -> None:
    """One count leaves nothing to choose; two that differ by far leave nothing to get wrong."""
    model = md()
    for ask, words in (
        (Ask.best_count([96_000.0], [4]), "of N = 4 alone there is no best count"),
        (Ask.best_count([1_067_000.0], [1, 4]), "the best count is as good as certain"),
    ):
        advice = for_question(model, ask)
        assert advice.cells == []
        assert advice.before == advice.after < 5e-4
        assert in_words(ask, advice) == f"nothing needs measuring: {words}"


# ---- the page ----


class _Page(HTMLParser):
    """What a browser would find: elements, their addresses, scripts, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.data: dict[str | None, str] = {}
        self.text = ""
        self._script: str | None = None
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.elements.append(tag)
        self.addresses += [known[key] or "" for key in ("src", "href", "action") if key in known]
        self.handlers += [key for key in known if key.startswith("on")]
        self._in_script, self._script = tag == "script", known.get("type")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.data[self._script] = self.data.get(self._script, "") + data
        else:
            self.text += data


def test_nothing_in_the_page_points_outside_it() -> None:
    data, model = jumping()
    written = page(content([model], data))
    parsed = _Page(written)
    assert parsed.addresses
    assert all(address.startswith(("#", "data:")) for address in parsed.addresses)
    assert "default-src 'none'" in written
    assert not set(parsed.elements) & {"iframe", "object", "embed", "base", "form action"}
    assert "@import" not in written
    assert parsed.elements.count("script") == 5


def test_names_from_data_are_shown_and_never_run() -> None:
    data, model = jumping(HOSTILE)
    model = replace(model, name=HOSTILE, remarks=[remark(Kind.DATA, HOSTILE)])
    report = content([model], data, title=HOSTILE)
    parsed = _Page(page(report, command=HOSTILE))
    assert parsed.elements.count("script") == 5
    assert "img" not in parsed.elements
    assert parsed.handlers == []
    assert parsed.text.count(HOSTILE) >= 6
    kept = json.loads(parsed.data["application/json"])
    assert kept["models"][0]["label"] == HOSTILE
    assert kept["models"][0]["curves"] == report["models"][0]["curves"]


def test_the_answer_is_there_without_any_script() -> None:
    data, model = jumping()
    report = content([model], data)
    text = " ".join(_Page(page(report)).text.split())
    best = model.best_counts([report["n"]["start"]], range(1, 5))[0]
    assert f"{best['gpus']} GPUs : " in text.replace("GPUs:", "GPUs :")
    assert "not identified alone" not in text
    assert "What to measure next" in text


def test_what_is_not_identified_is_said_with_what_is() -> None:
    data, _ = jumping()
    steps_alone = replace(data, records=[known for known in data.records if known.kind == "step"])
    model = gpucast.fit(steps_alone, model="paper", replicates=60)
    assert model.content["combinations"]
    text = " ".join(_Page(page(content([model], steps_alone))).text.split())
    assert "not identified alone" in text
    for known in model.content["combinations"]:
        assert known["expression"] in text


def test_a_model_file_with_no_more_than_it_must_have_makes_a_page(tmp_path: Path) -> None:
    _, model = jumping()
    must = ["model", "k", "breakpoints", "parameters", "combinations", "noise", "domain"]
    must += ["machine", "data", "warnings"]
    small = {key: model.content[key] for key in must}
    small["data"] = {key: small["data"][key] for key in ("name", "path", "schedule", "kernel")}
    small["machine"] = {key: small["machine"][key] for key in ("cores", "sms", "block")}
    least = from_json(Model, small)
    least.replicates, least.integers = model.replicates, model.integers
    least.save(tmp_path / "small.json")
    assert "particles" in page(content([load_model(tmp_path / "small.json")]))


# ---- the command ----


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    data, model = jumping()
    data.dump(folder / "data.jsonl")
    model.save(folder / "model.json")
    return folder


def test_the_command_writes_the_page_and_answers(files: Path, tmp_path: Path, run: Run) -> None:
    output = tmp_path / "report.html"
    status, out, _ = run(
        *("report", files / "model.json", "--data", files / "data.jsonl", "-n", "1000..1e5"),
        *("--gpus", "1-4", "--title", "Ours", "-o", output, "--json"),
    )
    assert status == 0
    answer = only_json(out)
    assert answer["bytes"] == output.stat().st_size
    assert answer["content"]["gpus"] == [1, 2, 3, 4]
    assert answer["content"]["n"]["values"][0] == 1000
    assert answer["content"]["n"]["values"][-1] == 100000
    assert "<title>Ours</title>" in output.read_text(encoding="utf-8")


def test_an_existing_page_is_replaced_by_force_only(files: Path, tmp_path: Path, run: Run) -> None:
    output = tmp_path / "report.html"
    output.write_text("mine")
    assert_refused(run("report", files / "model.json", "-o", output), "report.html", "--force")
    assert output.read_text() == "mine"
    assert run("report", files / "model.json", "-o", output, "--force")[0] == 0
    assert output.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.json"], ["nowhere.json"]),
        (["{files}/data.jsonl"], ["data.jsonl", "records, not a model"]),
        (["{files}/model.json", "--data", "p2p-copy"], ["p2p-copy", "no steps of path 'native'"]),
        (["{files}/model.json", "-n", "x"], ["n: 'x'"]),
        (["{files}/model.json", "-n", "1000"], ["n: needs two different sizes"]),
        (["{files}/model.json", "--gpus", "0"], ["gpus: '0'"]),
        (["{files}/model.json"] * 7, ["1 to 6 models, not 7"]),
        (["{files}/model.json", "--gpus", "1-100000"], ["gpus"]),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(
    files: Path, tmp_path: Path, run: Run, arguments: list[str], words: list[str]
) -> None:
    given = [argument.format(files=files) for argument in arguments]
    assert_refused(run("report", *given, "-o", tmp_path / "report.html"), *words)
    assert files_of(tmp_path) == {}


def test_the_page_runs_its_own_scripts_and_no_others() -> None:
    data, model = jumping()
    text = page(content([model], data))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    (allowed,) = [part for part in policy.split(";") if "script-src" in part]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    # Browsers hash what they have read, with line ends of one kind.
    assert not any("\r" in script or "\0" in script for script in scripts)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    named = [f"'sha256-{base64.b64encode(script).decode()}'" for script in digests]
    assert allowed.split() == ["script-src", *named]
    assert not re.search(r"<[^>]+\son\w+=", text[: text.index("<script>")])
