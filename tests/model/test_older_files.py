"""Model files of before p of ``occupancy`` and t_root of ``work`` were parameters, and of before
warnings had a kind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.model.fitted import Model
from gpucast.model.older import renewed
from gpucast.util.remarks import Kind
from made_data import (
    BLOCK,
    NATIVE,
    SMS,
    dataset,
    machine,
    microbenchmarks,
    occupancy_seconds,
    steps,
)

SIZES = [500, 1000, 2000, 4000, 8000, 16000, 32000, 64000]
INTEGERS = [1, 2, 4, 8] * 5


def fitted(form: str) -> Model:
    rng = np.random.default_rng(5)
    timed = steps(occupancy_seconds, rng, n=SIZES, block=BLOCK)
    data = dataset([machine(), *timed, *microbenchmarks(NATIVE, rng)])
    return gc.fit(data, model=form, replicates=len(INTEGERS))


def without(content: dict[str, Any], name: str) -> dict[str, Any]:
    """The content of a file that lacks a parameter and its replicates."""
    drawn = content["bootstrap"]
    at = drawn["parameters"].index(name)
    rows = [[*row[:at], *row[at + 1 :]] for row in drawn["values"]]
    names = [value for value in drawn["parameters"] if value != name]
    kept = {key: value for key, value in content["parameters"].items() if key != name}
    return {
        **content,
        "parameters": kept,
        "bootstrap": {**drawn, "parameters": names, "values": rows},
    }


@pytest.fixture(scope="module")
def occupancy() -> dict[str, Any]:
    content = without(json.loads(fitted("occupancy+linear+star-serial").to_json()), "p")
    return {**content, "p": 4, "bootstrap": {**content["bootstrap"], "integers": INTEGERS}}


@pytest.fixture(scope="module")
def work() -> dict[str, Any]:
    return without(json.loads(fitted("work+linear+star-serial").to_json()), "t_root")


def read(content: dict[str, Any], folder: Path) -> Model:
    path = folder / "old.json"
    path.write_text(json.dumps(content))
    return gc.load_model(path)


def test_an_integer_p_is_the_value_of_the_parameter(
    occupancy: dict[str, Any], tmp_path: Path
) -> None:
    model = read(occupancy, tmp_path)
    t_0, t_lat, t_blk = (model.parameters[name].value for name in ("t_0", "t_lat", "t_blk"))
    n, gpus = np.array([3000.0, 50000.0, 200000.0]), np.array([1.0, 3.0, 2.0])
    w = np.ceil(np.ceil(np.ceil(n / gpus) / BLOCK) / SMS)
    expected = t_0 + n * (t_lat**4 + (w * t_blk) ** 4) ** 0.25
    assert model.forecasts(n, gpus).t_gpu == pytest.approx(expected, rel=1e-12)


def test_each_replicate_keeps_its_own_p(occupancy: dict[str, Any], tmp_path: Path) -> None:
    model = read(occupancy, tmp_path)
    names = [name for name, _, _ in model.core.parameters]
    assert model.replicates[:, names.index("p")].tolist() == INTEGERS
    assert model.replicates[:, names.index("t_blk")].tolist() == [
        row[occupancy["bootstrap"]["parameters"].index("t_blk")]
        for row in occupancy["bootstrap"]["values"]
    ]
    assert set(model.integers) == {1}


def test_work_had_no_part_that_grows_with_the_root(work: dict[str, Any], tmp_path: Path) -> None:
    model = read(work, tmp_path)
    t_0, t_pair = (model.parameters[name].value for name in ("t_0", "t_pair"))
    n, gpus = np.array([100.0, 3000.0, 1e6]), np.array([1.0, 7.0, 1e4])
    expected = t_0 + np.ceil(n / gpus) * n * t_pair
    # More GPUs than were measured, too: nothing rests on what was never seen.
    assert model.forecasts(n, gpus).t_gpu == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["occupancy", "work"])
def test_what_was_read_is_written_and_read_again(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model = read(request.getfixturevalue(kind), tmp_path)
    model.save(tmp_path / "new.json")
    again = gc.load_model(tmp_path / "new.json")
    assert again.own_program
    assert again.content == model.content
    assert np.array_equal(again.replicates, model.replicates)


def test_of_warnings_there_were_texts_alone(work: dict[str, Any], tmp_path: Path) -> None:
    texts = ["t_0 is too small to matter", "a text that nobody knows"]
    old = {key: value for key, value in work.items() if key != "remarks"}
    model = read({**old, "warnings": texts}, tmp_path)
    assert model.warnings == texts
    assert {one.kind for one in model.remarks} == {Kind.UNSORTED}
    with pytest.raises(gc.InputError, match=r"warnings\[0\]: must be a string"):
        read({**old, "warnings": [4]}, tmp_path)


@pytest.mark.parametrize(
    ("key", "damaged"),
    [
        ("p", None),
        ("p", "4"),
        ("p", 0),
        ("p", -4),
        ("parameters", []),
        ("bootstrap", {}),
        ("bootstrap", {"parameters": ["t_blk"], "integers": [1], "values": [3]}),
        ("bootstrap", {"parameters": "t_blk", "integers": 1, "values": {}}),
        ("bootstrap", {"parameters": ["t_blk"], "integers": [1, 2], "values": [[1.0]]}),
    ],
)
def test_a_damaged_old_file_is_refused(
    occupancy: dict[str, Any], key: str, damaged: object, tmp_path: Path
) -> None:
    with pytest.raises(gc.InputError):
        read({**occupancy, key: damaged}, tmp_path)


@pytest.mark.parametrize(
    ("part", "term", "same"),
    [("gpu", "residency", "occupancy"), ("gpu", "pairs", "work"), ("cpu", "cached", "bent")],
)
def test_a_term_that_is_gone_is_refused_with_one_that_describes_the_same(
    work: dict[str, Any], part: str, term: str, same: str, tmp_path: Path
) -> None:
    old = {**work, "model": {**work["model"], part: term}, "chains": {"gpu": [1e6], "cpu": []}}
    with pytest.raises(gc.InputError) as caught:
        read(old, tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'old.json'}: model.{part}: the term '{term}' is gone ('{same}' describes "
        "the same); fit the data again"
    )


@pytest.mark.parametrize(
    ("path", "sleeps"), [("remote", True), ("remote-sync", True), ("native", False), ("lab", False)]
)
def test_of_a_what_ifs_path_the_name_alone_was_known(path: str, sleeps: bool) -> None:
    old = {"other_path": {"host": 0.1}, "data": {"what_if": {"path": path}}}
    assert renewed(old)["other_path"] == {"host": 0.1, "sleeps": sleeps}
    known = {**old, "other_path": {"host": 0.1, "sleeps": not sleeps}}
    assert renewed(known) == known


def test_skeletons_were_alike_however_long_gpus_were_busy() -> None:
    known = {"n": [1e3, 2e3], "sleeps": False}
    assert renewed({"other_path": known})["other_path"]["wait"] == [1.0, 1.0]
    timed = {**known, "wait": [1e-5, 1e-3]}
    assert renewed({"other_path": timed})["other_path"] == timed
