"""Model files of version 0.1.0."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.model.files import renewed
from gpucast.model.fitted import Model
from gpucast.util.remarks import Kind
from made_data import (
    BLOCK,
    NATIVE,
    dataset,
    machine,
    microbenchmarks,
    occupancy_seconds,
    steps,
)

SIZES = [500, 1000, 2000, 4000, 8000, 16000, 32000, 64000]


def fitted(form: str) -> Model:
    rng = np.random.default_rng(5)
    timed = steps(occupancy_seconds, rng, n=SIZES, block=BLOCK)
    data = dataset([machine(), *timed, *microbenchmarks(NATIVE, rng)])
    return gc.fit(data, model=form, replicates=20)


@pytest.fixture(scope="module")
def work() -> dict[str, Any]:
    return json.loads(fitted("work+linear+star-serial").to_json())  # type: ignore[no-any-return]


def read(content: dict[str, Any], folder: Path) -> Model:
    path = folder / "old.json"
    path.write_text(json.dumps(content))
    return gc.load_model(path)


def test_of_warnings_there_were_texts_alone(work: dict[str, Any], tmp_path: Path) -> None:
    texts = ["t_0 is too small to matter", "a text that nobody knows"]
    old = {key: value for key, value in work.items() if key != "remarks"}
    model = read({**old, "warnings": texts}, tmp_path)
    assert model.warnings == texts
    assert {one.kind for one in model.remarks} == {Kind.UNSORTED}
    with pytest.raises(gc.InputError, match=r"warnings\[0\]: must be a string"):
        read({**old, "warnings": [4]}, tmp_path)


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
