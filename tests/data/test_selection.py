"""Which steps a fit, a figure or a finding is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpucast.cli.options import SELECTION
from gpucast.data.records import Step
from gpucast.data.selection import (
    FIELDS,
    SelectionArguments,
    StepSelection,
    alike,
    case_says_nothing,
)
from gpucast.data.steps import groups_of, names_of
from gpucast.errors import InputError
from made_data import dataset, machine, step

OURS = StepSelection(path="native", schedule="star-serial", kernel="claret", graph=True)


def test_every_field_is_one_of_steps_and_has_an_argument_and_an_option() -> None:
    assert set(FIELDS) == SelectionArguments.__optional_keys__ == set(SELECTION)
    assert set(FIELDS) <= set(Step.__dataclass_fields__)


def test_a_label_names_what_is_not_usual() -> None:
    assert OURS.label == "native, star-serial, claret, graph"
    usual = replace(OURS, machine="m", block=128, graph=False, boundary="open")
    assert usual.label == "native, star-serial, claret"
    assert replace(usual, boundary="periodic").label.endswith(", periodic")


def test_selections_agree_where_both_say_something() -> None:
    assert OURS.agrees(StepSelection(kernel="claret", memory="pinned"))
    assert not OURS.agrees(StepSelection(graph=False))


def test_numbers_and_machines_tell_names_apart() -> None:
    kinds = [{"block": 64}, {"block": 128}, {"block": 128, "machine": "b"}]
    data = dataset([machine(), machine(name="b"), *(step(8, 1, [1.0], **kind) for kind in kinds)])
    first, *others = names_of(groups_of(data)).values()
    assert first.endswith("block 64")
    assert [name.rpartition("block ")[2] for name in others] == ["128, m", "128, b"]


def test_steps_are_as_preferred_or_of_their_only_kind() -> None:
    data = dataset([machine(), step(8, 1, [1.0], graph=False), step(8, 1, [1.0], graph=True)])
    assert [step.graph for step in alike(data.steps, OURS, data.name)] == [True]
    with pytest.raises(InputError, match="graph: there are several: no-graph, graph"):
        alike(data.steps, StepSelection(), data.name)


def test_a_chosen_program_leaves_out_steps_of_none() -> None:
    named = step(8, 1, [1.0], program="toy", schedule=None, kernel=None)
    data = dataset([machine(), named, step(9, 1, [1.0])])
    assert [kept.n for kept in data.select(program="toy").steps] == [8]
    assert len(data.select(path="native").steps) == 2


def of_cases(*cells: tuple[float, int, str]) -> list[Step]:
    steps = [step(n, gpus, [1.0], case=case) for n, gpus, case in cells]
    return dataset([machine(), *steps]).steps


@pytest.mark.parametrize(
    "cells",
    [
        [(1000, 1, "small"), (1000, 2, "small"), (9000, 1, "large")],
        [(1000, 1, "one node"), (9000, 1, "one node"), (1000, 8, "two nodes")],
    ],
    ids=["sizes", "counts"],
)
def test_cases_that_name_sizes_or_counts_are_one(cells: list[tuple[float, int, str]]) -> None:
    steps = of_cases(*cells)
    assert case_says_nothing(steps)
    assert StepSelection.of(steps, "data").case is None
    assert alike(steps, StepSelection(), "data") == steps


@pytest.mark.parametrize(
    "cells",
    [
        [(1000, 1, "single"), (1000, 1, "double")],
        [(1000, 1, "single"), (9000, 1, "single"), (27000, 1, "double")],
        [(1000, 1, "a"), (1000, 2, "b"), (9000, 1, "b")],
        [(1000, 1, "A100"), (9000, 1, "A100"), (1000, 2, "H100"), (9000, 2, "H100")],
        [(1000, 1, "A100"), (9000, 2, "A100"), (1000, 4, "H100"), (9000, 8, "H100")],
    ],
)
def test_other_cases_are_several(cells: list[tuple[float, int, str]]) -> None:
    steps = of_cases(*cells)
    with pytest.raises(InputError, match=r"case: there are several: .*; choose one with --case"):
        StepSelection.of(steps, "data")


LABELS = [("warp", "PME, double"), ("warp", "PME, single"), ("warp", "PME"), ("weft", "double 2")]
LABELLED = dataset(
    [machine(), *(step(8, 1, [1.0], program=program, case=case) for program, case in LABELS)]
)


@pytest.mark.parametrize(
    ("chosen", "case"),
    [
        ({"case": "SINGLE"}, "PME, single"),
        ({"case": "PME"}, "PME"),
        ({"case": "pme"}, "PME"),
        ({"case": "double", "program": "WARP"}, "PME, double"),
        ({"program": "ef"}, "double 2"),
    ],
    ids=["part", "whole", "whole in another case", "part within a program", "program"],
)
def test_a_part_of_a_label_chooses_it_where_no_other_has_it(
    chosen: SelectionArguments, case: str
) -> None:
    assert [step.case for step in LABELLED.select(**chosen).steps] == [case]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"case": "double"},
            "case: 'double' is a part of several: PME, double; double 2; name more",
        ),
        (
            {"case": "triple"},
            "case: no records of 'triple'; there are: PME, double; PME, single; PME; double 2",
        ),
        ({"program": "w"}, "program: 'w' is a part of several: warp, weft; name more of one"),
        ({"program": ""}, "program: no records of ''; there are: warp, weft"),
        ({"path": "nat"}, "path: no records of 'nat'; there are: native"),
    ],
    ids=["several", "none", "programs", "nothing", "no label"],
)
def test_a_part_of_several_labels_or_none_is_refused(
    chosen: SelectionArguments, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        LABELLED.select(**chosen)
    assert message in str(caught.value)
