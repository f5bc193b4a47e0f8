"""More measurements do not make forecasts beyond the data worse: other records are
used for what they tell, and left out if they do not describe the steps."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import gpucast as gc
from forecasting.questions import GPUS, SIZES, Measured, restricted, splits_of
from gpucast.answers.caveats import caveats
from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch, Record, Skeleton, Step, Transfer
from gpucast.data.selection import StepSelection
from gpucast.fitting.candidates import routes_of
from gpucast.fitting.mixture import fit_plausible, forms
from gpucast.fitting.selection import problem_of
from gpucast.model.averaged_parts import STEPS_ALONE
from gpucast.model.fitted import Model
from gpucast.model.intervals import Array
from made_data import NATIVE, dataset, machine, skeleton, steps, transfer, whole

TIMES, BEYOND, BEYOND_ONE_COUNT = 1.5, 0.03, 0.07
"""No forecast is further off with other records than so many times the error of one without, and so
much beyond (relative); the last where steps of one GPU count forecast others: these rest on what
such programs are like, and on what was timed alone."""

MIB = 2**20


def largest(data: Dataset, route: str) -> int:
    return max(transfer.bytes for transfer in data.transfers if transfer.route == route)


Keep = Callable[[Record, Dataset], bool]

PARTS: dict[str, Keep] = {
    "launches": lambda each, _: isinstance(each, Launch),
    "transfers": lambda each, _: isinstance(each, Transfer),
    "skeletons": lambda each, _: isinstance(each, Skeleton),
    "all": lambda *_: True,
    "up alone": lambda each, _: not isinstance(each, Transfer) or each.route == "h2d",
    "the largest copy down": lambda each, of: (
        not isinstance(each, Transfer)
        or each.route != "d2h"
        or each.bytes == largest(of, "d2h")
    ),
    "large copies": lambda each, _: not isinstance(each, Transfer) or each.bytes >= 16 * MIB,
    "small copies": lambda each, _: not isinstance(each, Transfer) or each.bytes <= 2048,
}  # fmt: skip


def with_part(data: Dataset, keep: Keep | None) -> Dataset:
    """Its steps, and those of the other records that are kept."""
    kept = [
        record
        for record in data.records
        if isinstance(record, Step) or (keep is not None and keep(record, data))
    ]
    return replace(data, records=kept)


def fitted(data: Dataset) -> Model:
    return gc.fit(data, replicates=0)


def broken_by(seconds: Array, without: Array, measured: Array, beyond: float = BEYOND) -> float:
    """By how much typical and largest error break their bound; of forecasts with other records and
    without them."""
    error, error_without = (np.abs(np.log(times / measured)) for times in (seconds, without))
    return max(
        float(summary(error) - (TIMES * summary(error_without) + beyond))
        for summary in (np.median, np.max)
    )


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_what_was_timed_alone_does_not_mislead(part: str) -> None:
    """Four GPUs from one and two, with a single large copy, were forecast 19 times too long."""
    data = whole(seed=7, gpus=[1, 2])
    n = np.repeat([1000.0, 8000.0, 64000.0], 3)
    gpus = np.tile([3.0, 4.0, 8.0], 3)
    beside = [
        skeleton("star-serial", size, count, 1e-6, [5e-5 * count] * 3)
        for size in (1000, 8000)
        for count in (1, 2)
    ]
    more = replace(data, records=[*data.records, *dataset([machine(), *beside]).records])
    forecasts, without = (
        fitted(with_part(more, keep)).forecasts(n, gpus).seconds for keep in (PARTS[part], None)
    )
    assert broken_by(forecasts, without, NATIVE.seconds(n, gpus)) <= 0


@pytest.mark.parametrize("slower", [30.0, 300.0])
def test_copies_that_steps_refute_are_left_out_and_the_answer_says_so(slower: float) -> None:
    rng = np.random.default_rng(3)
    cells = steps(NATIVE.seconds, rng, gpus=[1, 2])
    copies = [
        transfer(route, size, [slower * (1.2e-5 + size / 5e9)] * 3)
        for route in ("h2d", "d2h")
        for size in (256, 4096, 65536, 2**20, 2**24)
    ]
    model = fitted(dataset([machine(), *cells, *copies]))
    alone = fitted(dataset([machine(), *cells]))
    n, gpus = np.array([4000.0, 64000.0]), np.array([4.0, 3.0])
    there, others = model.forecasts(n, gpus), alone.forecasts(n, gpus)
    for entry in ("seconds", "low", "high"):
        assert getattr(there, entry) == pytest.approx(getattr(others, entry))
    assert STEPS_ALONE in model.warnings
    assert caveats(model, n, gpus)[0] == STEPS_ALONE
    assert STEPS_ALONE not in caveats(alone, n, gpus)
    assert {name: entry.value for name, entry in model.parameters.items()} == pytest.approx(
        {name: entry.value for name, entry in alone.parameters.items()}
    )


def test_copies_that_describe_the_steps_are_used_without_a_word() -> None:
    model = fitted(whole(seed=7, gpus=[1, 2]))
    assert STEPS_ALONE not in model.warnings
    assert not model.mixture.steps_alone
    alone = fitted(with_part(whole(seed=7, gpus=[1, 2]), None))
    n, gpus = np.array([4000.0]), np.array([4.0])
    assert model.forecasts(n, gpus).seconds != pytest.approx(alone.forecasts(n, gpus).seconds)


def forecast(data: Dataset, group: StepSelection, n: Array, gpus: Array) -> Array:
    """With the mixture of a fit of a group."""
    problem = problem_of(data, group)
    needed = routes_of(problem)
    problem.transfers = {
        route: records for route, records in problem.transfers.items() if route in needed
    }
    form, _ = fit_plausible(problem, forms(problem, None))
    one = np.ones(n.size)
    return np.asarray(form.forecast(n, gpus, one, 0 * one, 0 * one)[0])


@pytest.mark.slow
@pytest.mark.parametrize("bundled", ["h200-x2", "h200-x4", "h200-x4-mixed", "h200-shm"])
def test_no_part_of_what_was_timed_alone_misleads_any_bundled_group(bundled: str) -> None:
    """These have steps and other records."""
    measured = Measured(gc.load(bundled))
    broken = {}
    for name, group in measured.groups.items():
        cells, training = measured.cells(group), measured.training(group)
        if not training.transfers and not training.launches:
            continue
        for split, trained in splits_of(cells).items():
            if split not in (GPUS, SIZES):
                continue
            data = restricted(training, trained)
            beyond = [cell not in trained for cell in zip(cells.n, cells.gpus, strict=True)]
            n, gpus, seconds = cells[beyond][["n", "gpus", "measured"]].to_numpy(float).T
            bound = BEYOND if len({count for _, count in trained}) > 1 else BEYOND_ONE_COUNT
            without = forecast(with_part(data, None), group, n, gpus)
            for part, keep in PARTS.items():
                forecasts = forecast(with_part(data, keep), group, n, gpus)
                broken[name, split, part] = broken_by(forecasts, without, seconds, bound)
    assert len(broken) >= 10 * len(PARTS)
    assert {where: by for where, by in broken.items() if by > 0} == {}
