"""Which records and which model a fit uses; if it cannot decide, it lists the choices."""

from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.data.selection import StepSelection
from gpucast.fitting.selection import problem_of
from gpucast.util.remarks import texts_of
from made_data import (
    BLOCK,
    NATIVE,
    VIRTUALIZED,
    dataset,
    machine,
    microbenchmarks,
    occupancy_seconds,
    step,
    steps,
    steps_alone,
    transfer,
    whole,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def some_steps(**other: Any) -> list[dict[str, Any]]:
    return steps(NATIVE.seconds, rng(), n=[1000, 8000, 64000], gpus=[1, 2], repeats=2, **other)


def names(model: gc.Model) -> list[str]:
    return [candidate["model"] for candidate in model.content["candidates"]]


def test_auto_takes_wave_for_data_of_the_paper() -> None:
    model = gc.fit(whole(seed=11), replicates=0)
    assert model.content["model"] == {"gpu": "wave", "cpu": "linear", "com": "star-serial"}
    assert model.content["chosen"] == "paper"


def test_auto_takes_occupancy_for_data_of_blocks_on_multiprocessors() -> None:
    generator = rng(3)
    # With up to four blocks and more per multiprocessor beyond the bend, p is visible.
    n = [500, 1000, 2000, 3000, 4000, 6000, 8000, 16000, 32000, 64000, 128000, 256000]
    data = dataset(
        [
            machine(),
            *steps(occupancy_seconds, generator, n=n, block=BLOCK),
            *microbenchmarks(NATIVE, generator),
        ]
    )
    model = gc.fit(data, replicates=0)
    assert model.content["model"]["gpu"] == "occupancy"
    assert model.content["k"] is None
    tried = {candidate.model: candidate for candidate in model.candidates}
    # Processes for the paper's form compensate for it only where there are data.
    assert tried["paper"].weight == 0
    assert tried["paper"].cv_error > 1.3 * tried["occupancy+linear+star-serial"].cv_error
    # Forecasts follow the formula where nothing was measured.
    cells = np.array([(n, gpus) for n in (5000.0, 50000.0, 180000.0) for gpus in (1.0, 6.0)])
    forecasts = model.forecasts(cells[:, 0], cells[:, 1]).seconds
    assert forecasts == pytest.approx(occupancy_seconds(cells[:, 0], cells[:, 1]), rel=0.05)


@pytest.mark.parametrize("model", ["auto", "paper", "work+affine+star-serial"])
def test_the_paper_is_always_among_the_candidates(model: str) -> None:
    fit = gc.fit(steps_alone(), model=model, replicates=0)
    assert "paper" in names(fit)
    assert fit.content["chosen"] == ("paper" if model == "auto" else model)
    if model == "auto":
        weights = [candidate.weight for candidate in fit.candidates]
        assert sum(weights) == pytest.approx(1)
        assert weights == sorted(weights, reverse=True)
    assert all(0 < c["cv_error"] < 1 for c in fit.content["candidates"])


def test_a_named_model_is_taken_as_it_is() -> None:
    content = gc.fit(steps_alone(), model="work+affine+star-async", replicates=0).content
    assert content["model"] == {"gpu": "work", "cpu": "affine", "com": "star-async"}


def test_the_terms_of_the_paper_in_full_are_the_paper() -> None:
    fit = gc.fit(steps_alone(), model="wave + linear +star-serial", replicates=0)
    assert fit.content["chosen"] == "paper"
    assert names(fit) == ["paper"]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("waves+linear+star-serial", "'waves' is none of wave, occupancy, work"),
        ("wave+cubic+star-serial", "'cubic' is none of linear, affine"),
        ("wave+linear+ring", "'ring' is none of star-serial, star-async, allgather, mpi"),
        ("wave+linear", "GPU\\+CPU\\+COM"),
        ("", "GPU\\+CPU\\+COM"),
        ("best", "auto, paper"),
        ("work + start + reduction", "is a scaling form; these cannot be named: the measurements"),
        ("work+start", "is a scaling form"),
    ],
)
def test_an_unknown_model_is_refused_with_those_there_are(model: str, said: str) -> None:
    with pytest.raises(gc.InputError, match=said):
        gc.fit(steps_alone(), model=model)


def test_without_cores_the_paper_is_refused_and_auto_does_without() -> None:
    data = dataset([machine(None), *some_steps()])
    with pytest.raises(gc.InputError, match="needs the number of cores"):
        gc.fit(data, model="paper")
    fit = gc.fit(data, replicates=0)
    assert fit.content["model"]["gpu"] == "work"
    assert "paper" not in names(fit)
    assert any("'wave' needs the number of cores" in text for text in fit.content["notes"])


def test_auto_takes_the_schedule_of_the_steps() -> None:
    fit = gc.fit(dataset([machine(), *some_steps(schedule="mpi")]), replicates=0)
    assert fit.content["data"]["schedule"] == "mpi"
    assert all(name.endswith("+mpi") or name == "paper" for name in names(fit))


@pytest.mark.parametrize(
    ("field", "first", "other"),
    [
        ("path", "native", "remote"),
        ("schedule", "star-serial", "mpi"),
        ("kernel", "claret", "tuned"),
        ("block", 128, 256),
        ("memory", "pageable", "pinned"),
        ("boundary", "open", "periodic"),
    ],
)
def test_several_possibilities_are_listed(field: str, first: Any, other: Any) -> None:
    data = dataset([machine(), *some_steps(**{field: first}), *some_steps(**{field: other})])
    beside = " (gpucast compare shows them side by side)" if field == "path" else ""
    with pytest.raises(gc.InputError) as caught:
        gc.fit(data)
    assert str(caught.value) == (
        f"made: {field}: there are several: {first}, {other}; choose one with --{field}{beside}"
    )
    for choice in (first, other):
        chosen = problem_of(data, StepSelection(**{field: choice}))
        assert {getattr(step, field) for step in chosen.steps} == {choice}


def test_several_machines_are_listed() -> None:
    data = dataset(
        [machine(), machine(name="b", cores=2880), *some_steps(), *some_steps(machine="b")]
    )
    with pytest.raises(gc.InputError, match="machine: there are several: m, b"):
        gc.fit(data)
    chosen = gc.fit(data, machine="b", replicates=0).content["machine"]
    assert (chosen["id"], chosen["cores"]) == ("b", 2880)


def test_steps_with_and_without_a_graph_are_not_mixed() -> None:
    data = dataset([machine(), *some_steps(graph=False), *some_steps(graph=True)])
    with pytest.raises(gc.InputError) as caught:
        gc.fit(data)
    assert str(caught.value) == (
        "made: graph: there are several: no-graph, graph; choose one with --graph or --no-graph"
    )
    for graph in (False, True):
        problem = problem_of(data, StepSelection(graph=graph))
        assert problem.selection.graph is graph
        assert {step.graph for step in problem.steps} == {graph}


def test_the_only_kind_of_steps_needs_no_choice() -> None:
    kind = {"block": 128, "memory": "pinned", "graph": True, "boundary": "periodic"}
    model = gc.fit(dataset([machine(), *some_steps(**kind)]), replicates=0)
    assert {name: getattr(model.selection, name) for name in kind} == kind


def test_steps_that_do_not_state_a_kind_go_with_every_one() -> None:
    stated = [*some_steps(memory="pinned", graph=True), *some_steps(memory="pageable", graph=False)]
    data = dataset([machine(), *some_steps(), *stated])
    problem = problem_of(data, StepSelection(memory="pageable", graph=False))
    assert [step.memory for step in problem.steps] == [None] * 6 + ["pageable"] * 6
    one = problem_of(dataset([machine(), *some_steps(), *some_steps(memory="pinned", graph=True)]))
    assert (len(one.steps), one.selection.memory, one.selection.graph) == (12, "pinned", True)


def test_a_step_without_a_boundary_is_of_an_open_box() -> None:
    data = dataset([machine(), *some_steps(), *some_steps(boundary="periodic")])
    with pytest.raises(gc.InputError, match="boundary: there are several: open, periodic"):
        problem_of(data)
    for boundary, stated in (("open", None), ("periodic", "periodic")):
        problem = problem_of(data, StepSelection(boundary=boundary))
        assert {step.boundary for step in problem.steps} == {stated}


def test_a_kind_that_no_step_has_is_refused_with_those_there_are() -> None:
    data = dataset([machine(), *some_steps(memory="pinned", graph=True, block=128)])
    for choice, message in (
        ({"memory": "mapped"}, "memory: no steps with 'mapped'; there are: pinned"),
        ({"graph": False}, "graph: no records of 'no-graph'; there are: graph"),
        ({"block": 256}, "block: no records of '256'; there are: 128"),
        ({"boundary": "periodic"}, "boundary: no records of 'periodic'; there are: open"),
    ):
        with pytest.raises(gc.InputError, match=message):
            problem_of(data, StepSelection(**choice))


def test_transfers_are_of_the_memory_that_the_steps_used() -> None:
    slow = microbenchmarks(VIRTUALIZED, rng(), launches=False, memory="pageable")
    fast = microbenchmarks(NATIVE, rng())
    data = dataset([machine(), *some_steps(memory="pageable"), *fast, *slow])
    problem = problem_of(data)
    assert {t.memory for route in problem.transfers.values() for t in route} == {"pageable"}
    assert problem.remarks == []
    without = problem_of(dataset([machine(), *some_steps(memory="pageable"), *fast]))
    assert without.transfers == {}
    assert texts_of(without.remarks) == [
        "the steps used pageable memory, the transfers pinned: transfers were left out"
    ]
    unstated = microbenchmarks(NATIVE, rng(), launches=False, memory="unknown")
    assert problem_of(dataset([machine(), *some_steps(memory="pinned"), *unstated])).transfers


@pytest.mark.parametrize("field", ["path", "schedule", "kernel", "machine"])
def test_a_choice_that_no_record_has_is_refused_with_those_there_are(field: str) -> None:
    with pytest.raises(gc.InputError, match="there are: ") as caught:
        gc.fit(steps_alone(), **{field: "elsewhere"})
    assert caught.value.field == field


def test_pinned_memory_is_taken_unless_another_is_named() -> None:
    generator = rng()
    slow = microbenchmarks(VIRTUALIZED, generator, launches=False, memory="pageable")
    data = dataset([machine(), *some_steps(), *microbenchmarks(NATIVE, generator), *slow])
    problem = problem_of(data)
    assert {t.memory for route in problem.transfers.values() for t in route} == {"pinned"}
    assert any("took pinned" in text for text in texts_of(problem.remarks))
    chosen = problem_of(data, StepSelection(memory="pageable"))
    assert {t.memory for route in chosen.transfers.values() for t in route} == {"pageable"}
    with pytest.raises(gc.InputError, match="no transfers with 'mapped'; there are: pinned, pag"):
        gc.fit(data, memory="mapped")


def test_a_copy_engine_is_preferred_to_kernels_that_copy() -> None:
    kernels = [transfer("h2d", 1024, [1.0], engine="kernel")]
    data = dataset([machine(), *some_steps(), *microbenchmarks(NATIVE, rng()), *kernels])
    assert {t.engine for t in problem_of(data).transfers["h2d"]} == {"copy"}


def test_transfers_that_say_nothing_of_a_step_are_left_out_with_a_warning() -> None:
    useless = [
        transfer("h2d", 1024, [1.0], cold=True),
        transfer("h2d", 1024, [1.0], valid=False),
        transfer("h2d", 1024, [1.0], concurrent=[{"from": "gpu1", "to": "host"}]),
        transfer("d2h", 1024, [1.0], concurrent=[{"from": "gpu1", "to": "host"}]),
    ]
    good = [machine(), *some_steps(), *microbenchmarks(NATIVE, rng())]
    fit, without = gc.fit(dataset([*good, *useless]), replicates=0), gc.fit(dataset(good))
    assert fit.parameter("L_h2d") == without.parameter("L_h2d")
    (warning,) = [text for text in fit.warnings if text.startswith("left out")]
    for part in ("1 of a first call", "1 with wrong bytes", "2 beside other copies"):
        assert part in warning
    assert not any(text.startswith("left out") for text in without.warnings)


def test_first_steps_are_left_out_unless_there_are_no_others() -> None:
    first = step(1000, 1, [100.0], cold=True)
    mixed = problem_of(dataset([machine(), *some_steps(), first]))
    assert not any(record.cold for record in mixed.steps)
    assert any("1 first-call step" in text for text in texts_of(mixed.remarks))
    only = problem_of(dataset([machine(), *some_steps(cold=True)]))
    assert len(only.steps) == 6
    assert any("all steps are first calls" in text for text in texts_of(only.remarks))


def test_records_of_other_paths_do_not_enter_a_fit() -> None:
    generator = rng()
    there = [*some_steps(), *microbenchmarks(NATIVE, generator)]
    other = [*some_steps(path="remote"), *microbenchmarks(VIRTUALIZED, generator, path="remote")]
    fit = gc.fit(dataset([machine(), *there, *other]), path="native", replicates=0)
    assert fit.parameter("L_h2d") == gc.fit(dataset([machine(), *there])).parameter("L_h2d")


def test_a_dataset_without_steps_is_refused() -> None:
    with pytest.raises(gc.InputError, match="no steps to fit"):
        gc.fit(gc.load("p2p-copy"), machine="tesla-c2050")
    with pytest.raises(gc.InputError, match="no steps and no transfers"):
        gc.fit(dataset([machine()]))
