"""What a path is, by its records: its name decides nothing."""

import statistics
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucast as gc
from gpucast.data.dataset import Dataset
from gpucast.data.selection import usual
from gpucast.model.fitted import Model
from gpucast.paths.path_facts import PathFacts, direct_path, facts_of
from gpucast.paths.traced.path import PathCosts, path_costs
from made_data import dataset, launch, machine, step, transfer

BUNDLED = ("h200-x2", "h200-x4", "h200-x4-mixed", "h200-shm", "h200-traces")
"""Our datasets with launches and copies of paths to remote GPUs."""
LABELS = st.permutations(
    [
        "lab",
        "lab-async",
        "sync",
        "remote",
        "remote-sync",
        "remote-shm",
        "native",
        "host",
        "mig",
        "x",
    ]
)
MICROBENCH = {"tool": {"name": "gpucast-microbench"}}


@cache
def loaded(name: str) -> Dataset:
    return gc.load(name)


def relabelled(data: Dataset, names: Mapping[str, str]) -> Dataset:
    """The same records, of paths of other names."""

    def named(record: Any) -> Any:
        path = getattr(record, "path", None)
        return record if path is None else replace(record, path=names[path])

    return replace(data, records=[named(entry) for entry in data.records])


@cache
def costs_of(name: str) -> dict[str, PathCosts]:
    return {path: path_costs(loaded(name), path) for path in remote_paths(name)}


@cache
def remote_paths(name: str) -> list[str]:
    data = loaded(name)
    timed = {launch.path for launch in data.launches}
    return [path for path in data.paths() if path in timed and facts_of(data, path).forwarded]


def numbers(costs: PathCosts) -> list[float]:
    """All that costs hold but paths' names and words."""
    flat: list[float] = []

    def add(value: object) -> None:
        if is_dataclass(value):
            for field in fields(value):
                if field.name not in ("path", "warnings"):
                    add(getattr(value, field.name))
        elif isinstance(value, Mapping):
            for part in value.values():
                add(part)
        elif isinstance(value, np.ndarray):
            flat.extend(value.ravel().tolist())
        elif value is not None:
            assert isinstance(value, int | float)
            flat.append(value)

    add(costs)
    return flat


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
@settings(max_examples=4, deadline=None)
@given(labels=LABELS)
def test_a_paths_costs_do_not_hang_on_its_name(name: str, labels: list[str]) -> None:
    data = loaded(name)
    names = dict(zip(data.paths(), labels, strict=False))
    other = relabelled(data, names)
    direct = direct_path(data)
    assert direct is not None
    assert direct_path(other) == names[direct]
    assert len(costs_of(name)) > 0
    for path, costs in costs_of(name).items():
        assert facts_of(other, names[path]) == facts_of(data, path)
        assert numbers(path_costs(other, names[path])) == numbers(costs)


@cache
def native_model() -> Model:
    return gc.fit(
        loaded("h200-x2"), path="native", schedule="star-serial", kernel="tuned", memory="pinned",
        replicates=5,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("launches", ["auto", "measured"])
@settings(max_examples=3, deadline=None)
@given(labels=LABELS)
def test_a_what_if_does_not_hang_on_its_paths_name(launches: Any, labels: list[str]) -> None:
    """Threads sleep wherever they slept, by whatever name."""
    data = loaded("h200-x2")
    names = dict(zip(data.paths(), labels, strict=False))
    n, gpus = np.array([1000.0, 64000.0, 157216.0]), np.array([1.0, 2.0, 2.0])

    def communication(data: Dataset, path: str) -> list[float]:
        forecasts = gc.what_if(native_model(), data, path, memory="pinned", launch=launches)
        return list(forecasts.forecasts(n, gpus).t_com)

    there = relabelled(data, names)
    for path in ("remote", "remote-sync"):
        assert communication(there, names[path]) == communication(data, path)


@pytest.mark.parametrize("name", BUNDLED)
def test_stated_bounds_of_a_message_show_in_copies(name: str) -> None:
    """Copies just beyond it come back sooner than those within: over several connections."""
    data = loaded(name)
    for path in remote_paths(name):
        facts = facts_of(data, path)
        if facts.transport == "shm":
            continue  # memory that both sides share: no copy is faster for being longer
        samples: dict[int, list[float]] = {}
        for copy in data.transfers:
            alone = copy.method == "call" and not copy.concurrent and not copy.cold
            if copy.path == path and copy.route == "d2h" and copy.memory == "pinned" and alone:
                samples.setdefault(copy.bytes, []).extend(copy.seconds)
        took = sorted((size, statistics.median(seconds)) for size, seconds in samples.items())
        beyond = next(at for at in range(len(took)) if took[at][0] > facts.inline_bytes)
        assert took[beyond][1] < 0.95 * took[beyond - 1][1]
        # And nowhere else so markedly.
        falls = [b[1] / a[1] for a, b in pairwise(took) if a[0] >= 4096]
        assert min(falls) == pytest.approx(took[beyond][1] / took[beyond - 1][1])


def facts(*records: dict[str, Any], path: str = "lab", **about: Any) -> PathFacts:
    made = [{**record, "path": path} for record in records]
    return facts_of(dataset([{**machine(), **about}, *made]), path)


LAUNCHES = (launch(1, [3e-6] * 3), launch(1, [15e-6] * 3, method="sync"))


def test_todays_layer_is_the_one_that_is_built() -> None:
    """Where records state nothing: 48 KiB where there are cores for other threads, else 1 MiB."""
    for cores in (1, 4, 7, 8, 16, 64):
        path_facts = facts(*LAUNCHES, cpu_cores=cores)
        assert path_facts.inline_bytes == (48 << 10 if cores >= 8 else 1 << 20)


def test_what_a_machine_states_comes_first() -> None:
    path_facts = facts(*LAUNCHES, cpu_cores=64, inline_bytes=1 << 20, answered=True)
    assert path_facts.inline_bytes == 1 << 20
    assert path_facts.forwarded
    assert path_facts.answered
    gated = launch(16, [1e-5], method="gated")
    assert facts(gated, transport="shm").forwarded
    assert facts(gated, transport="shm").transport == "shm"


def test_work_behind_a_gate_says_that_there_are_no_messages() -> None:
    gated = launch(16, [1e-5], method="gated")
    assert facts(*LAUNCHES, gated, path="remote", **MICROBENCH).forwarded is False
    assert facts(*LAUNCHES, path="native", **MICROBENCH).forwarded is True
    assert facts(*LAUNCHES).forwarded is None
    assert facts(transfer("h2d", 4096, [1e-5]), **MICROBENCH).forwarded is True


def test_launches_say_whether_each_call_is_answered() -> None:
    assert not facts(*LAUNCHES, path="remote-sync").answered
    answered = (launch(1, [12e-6] * 3), launch(1, [24e-6] * 3, method="sync"))
    assert facts(*answered, path="remote").answered


@pytest.mark.parametrize(("rest", "sleeps"), [(70e-6, True), (12e-6, False)])
def test_a_wait_after_a_pause_says_whether_a_thread_slept(rest: float, sleeps: bool) -> None:
    waits = (launch(1, [9e-6], method="idle"), launch(1, [rest], method="rest"))
    assert facts(*LAUNCHES, *waits, **MICROBENCH).sleeps is sleeps
    assert facts(*LAUNCHES, *waits).sleeps is sleeps


@pytest.mark.parametrize("path", ["native", "host", "remote", "remote-sync", "remote-shm", "lab"])
def test_steps_alone_leave_the_name(path: str) -> None:
    path_facts = facts(step(1000, 1, [1e-3]), path=path)
    assert (path_facts.forwarded, path_facts.answered) == usual(path)
    assert path_facts.sleeps == bool(path_facts.forwarded)


def test_cpu_threads_as_devices_are_not_the_gpus_own_path() -> None:
    gated = launch(16, [1e-5], method="gated")
    cores = {"kind": "machine", "id": "cores", **MICROBENCH}
    on_cores = {**gated, "path": "cpu", "machine": "cores"}
    data = dataset([machine(), cores, on_cores, {**gated, "path": "here"}])
    assert direct_path(data) == "here"
