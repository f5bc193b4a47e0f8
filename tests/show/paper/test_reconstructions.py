"""The reconstructed machine of 2015: labelled as ours, made of sourced or assumed quantities."""

import json
import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, assert_refused, shell
from gpucast.model.asked import outer
from gpucast.model.content import Quantity

ROOT = Path(__file__).parents[3]
NAMES = ("reconstructed-2015-native", "reconstructed-2015-remote")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "lab" / "data" / "reconstruct_2015.py"))


def test_models_and_page_are_what_the_script_makes(script: dict[str, Any], tmp_path: Path) -> None:
    models = {path: script["model"](path) for path in ("native", "remote")}
    for path, made in models.items():
        made.save(tmp_path / "made.json", force=True)
        committed = ROOT / "data" / "reconstructed" / f"reconstructed-2015-{path}.json"
        assert committed.read_bytes() == (tmp_path / "made.json").read_bytes(), (
            "run python lab/data/reconstruct_2015.py"
        )
    page = (ROOT / "docs" / "machine-2015.md").read_text(encoding="utf-8")
    assert page == script["page"](models), "run python lab/data/reconstruct_2015.py"


def quantities(name: str) -> list[Quantity]:
    made = gc.load_model(name).reconstruction
    return made.quantities


@pytest.mark.parametrize("name", NAMES)
def test_every_quantity_has_a_source_or_is_marked_as_assumed(name: str) -> None:
    for quantity in quantities(name):
        assert (quantity.source is None) != (quantity.assumed is None), quantity.name
        assert (quantity.low is None) == (quantity.high is None) == (quantity.range is None), (
            quantity.name
        )
        if quantity.low is not None and quantity.high is not None:
            assert quantity.low <= quantity.value <= quantity.high, quantity.name


@pytest.mark.parametrize("name", NAMES)
def test_forecasts_are_finite_wide_and_marked_as_extrapolated(name: str) -> None:
    forecasts = gc.load_model(name).forecasts(*outer([64, 1000, 1e5, 1e6], range(1, 9)))
    for array in (forecasts.seconds, forecasts.low, forecasts.high):
        assert np.isfinite(array).all()
        assert (array > 0).all()
    assert forecasts.extrapolated.all()
    assert (forecasts.high / forecasts.low > 1.5).all()  # honest: nothing was measured
    assert forecasts.t_gpu + forecasts.t_cpu + forecasts.t_com == pytest.approx(forecasts.seconds)


def test_times_are_the_papers_equations(script: dict[str, Any]) -> None:
    about = script["read"]()[1]
    v = {quantity.name: quantity.value for quantity in (*about["both"], *about["native"])}
    n, gpus = 25_000, 3
    t_gpu = v["cycles_per_pair"] / (v["cores"] * v["clock"])
    threads = v["k"] * v["cores"]
    latency = v["L_copy"] + v["L_box"]
    expected = (
        math.ceil(n / (threads * gpus)) * n * threads * t_gpu
        + v["t_cpu"] * n
        + 16 * n * gpus / v["B_h2d"] + gpus * latency
        + 12 * n / v["B_d2h"] + gpus * latency
        + v["t_kernel"] * gpus
    )  # fmt: skip
    forecasts = gc.load_model("reconstructed-2015-native").forecasts([n], [gpus])
    assert forecasts.seconds[0] == pytest.approx(expected, rel=1e-5)


def test_the_papers_findings_hold_and_the_doubtful_one_is_stated(script: dict[str, Any]) -> None:
    native, remote = (gc.load_model(name) for name in NAMES)
    shares = {(words, path): share for words, path, share in script["findings"](native, remote)}
    doubtful = {key for key, share in shares.items() if share < 1}
    assert len(shares) == 17
    assert {path for _, path in doubtful} == {"remote"}
    assert all("many particles" in words for words, _ in doubtful)
    assert all(share > 0.5 for share in shares.values())


@pytest.mark.parametrize("quantity", ["L_h2d", "L_d2h", "B_h2d", "B_d2h", "t_kernel"])
def test_values_that_name_a_fit_are_what_it_finds(dscuda: gc.Model, quantity: str) -> None:
    made_of = {q.name: q for q in quantities(NAMES[1])}
    assert made_of[quantity].value == pytest.approx(dscuda.parameter(quantity), rel=0.02)
    assert "--path infiniband" in (made_of[quantity].source or "")


@pytest.fixture(scope="module")
def dscuda() -> gc.Model:
    return gc.fit(gc.load("dscuda"), path="infiniband", model="paper", replicates=0)


def test_bounds_that_name_a_fit_are_what_it_finds() -> None:
    made_of = {q.name: q for q in quantities(NAMES[0])}
    local = gc.fit(gc.load("dscuda"), path="local", replicates=0)
    cycles = made_of["cycles_per_pair"]
    assert cycles.low == pytest.approx(local.parameter("t_pair") * 240 * 1.296e9, rel=0.05)
    by_route = {(f.machine, f.route): f for f in gc.fit_transfers(gc.load("p2p-copy"))}
    for machine, bound in (("geforce-gtx580", "value"), ("tesla-c2050", "high")):
        staged = by_route[machine, "staged"].seconds(np.array([1.0]))[0]
        assert getattr(made_of["L_copy"], bound) == pytest.approx(staged / 2, rel=0.03)


def test_show_names_every_source_and_assumption(run: Run) -> None:
    status, out, _ = run("data", "show", NAMES[1])
    assert status == 0
    assert "ours, neither measured nor the paper's" in out.splitlines()[1]
    status, shown, _ = run("data", "show", NAMES[1], "--json")
    for quantity in json.loads(shown)["quantities"]:
        assert (quantity["source"] or quantity["assumed"]) in out


def test_they_are_used_by_name_and_warn(run: Run, tmp_path: Path) -> None:
    status, out, err = run("predict", *NAMES, "-n", "1000,1e5", "--gpus", "1-8", "--json")
    assert status == 0
    assert len(json.loads(out)["forecast"]) == 32
    assert err.count("ours, neither measured nor the paper's") == 2
    status, _, err = run("compare", *NAMES, "-n", "1000", "--gpus", "8")
    assert status == 0
    assert "ours" in err


def test_a_reconstruction_is_no_dataset_and_a_near_name_is_none() -> None:
    assert_refused(shell("data", "export", NAMES[0], "--format", "csv"), NAMES[0], "dataset")
    assert_refused(shell("predict", "reconstructed-2015", "-n", "100"), "reconstructed-2015")


def test_a_file_of_the_same_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(NAMES[0]).write_text("{}", encoding="utf-8")
    with pytest.raises(gc.InputError, match="no model file"):
        gc.load_model(NAMES[0])
