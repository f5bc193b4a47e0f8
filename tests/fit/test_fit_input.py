"""The input of a fit from records, and the complexity of the models that it tries."""

from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.fitting import problem as problems
from gpucast.fitting.candidates import Candidate, routes_of
from gpucast.fitting.problem import Problem
from gpucast.fitting.selection import problem_of
from made_data import (
    BLOCK,
    NATIVE,
    dataset,
    launch,
    machine,
    microbenchmarks,
    step,
    steps,
    transfer,
)


def of_sizes(
    n: list[int], gpus: tuple[int, ...] = (1,), *extra: dict[str, Any], **other: Any
) -> Problem:
    """Steps of these sizes, each timed once."""
    cells = [step(size, count, [1e-3], block=BLOCK, **other) for size in n for count in gpus]
    return problem_of(dataset([machine(), *cells, *extra]))


def test_complexity_counts_parameters_but_those_of_the_schedule() -> None:
    problem = of_sizes([1000, 2000], (1, 2))
    routes = (("h2d", ()), ("d2h", ()))
    serial = Candidate("work", "linear", "star-serial", routes)
    # t_0, t_pair, t_root; t_cpu; two lines of two.
    assert serial.complexity(problem) == 3 + 1 + 4
    for com in ("star-async", "star-async-poll", "star-async-turns"):
        assert Candidate("work", "linear", com, routes).complexity(problem) == 8
    # The visible share of a further GPU's copies.
    assert Candidate("work", "linear", "star-serial-poll", routes).complexity(problem) == 9
    assert Candidate("work", "affine", "star-serial", routes).complexity(problem) == 9
    assert Candidate("wave", "linear", "star-serial", routes).complexity(problem) == 6
    bent = Candidate("work", "linear", "star-serial", (("h2d", (4096.0,)), ("d2h", ())))
    assert bent.complexity(problem) == 9


# Input of a fit


def test_a_schedule_moves_data_on_its_own_routes_and_the_papers() -> None:
    paper = {"h2d", "d2h"}
    assert routes_of(of_sizes([1000])) == paper
    assert routes_of(of_sizes([1000], schedule="allgather")) == paper | {"peer"}
    assert routes_of(of_sizes([1000], schedule="mpi")) == paper | {"net"}


def test_transfers_of_other_routes_are_no_part_of_a_fit_of_steps() -> None:
    rng = np.random.default_rng(5)
    others = [
        transfer(route, size, [1e-5 + size / 1e10] * 3)
        for route in ("peer", "staged")
        for size in (1024, 2**16, 2**22)
    ]
    made = [machine(), *steps(NATIVE.seconds, rng), *microbenchmarks(NATIVE, rng)]
    content = gc.fit(dataset([*made, *others]), model="paper", replicates=0).content
    plain = gc.fit(dataset(made), model="paper", replicates=0).content
    assert content["breakpoints"].keys() == {"h2d", "d2h"}
    assert content["parameters"] == plain["parameters"]
    assert content["observations"] == plain["observations"]


@pytest.mark.parametrize(
    ("schedule", "alone"), [("star-serial", True), ("star-async", False), ("allgather", False)]
)
def test_kernel_phases_are_kernels_alone_under_star_serial_only(schedule: str, alone: bool) -> None:
    phases = {"kernel": [8e-4, 0.0, 9e-4], "cpu": [1e-5, 1e-5, 1e-5]}
    cell = step(1000, 2, [1e-3, 1e-3, 1e-3], schedule=schedule, phases=phases)
    seen = problem_of(dataset([machine(), cell])).observations()
    # A step and its host part; of the kernel two samples, as no kernel takes no time.
    assert seen.cell_count == (3 if alone else 2)
    assert seen.sample_count == (8 if alone else 6)


def test_kernel_phases_tell_the_kernel_from_what_surrounds_it() -> None:
    rng = np.random.default_rng(6)

    def gpu(n: Any) -> Any:
        return 5e-4 + 2e-11 * n**2

    def timed(phases: bool) -> gc.Dataset:
        cells = []
        for n in (1000, 2000, 4000, 8000, 16000, 32000):
            _, t_cpu, t_com = NATIVE.terms(np.array(float(n)), np.array(1.0))
            noise = np.exp(0.02 * rng.standard_normal((2, 5)))
            whole = (gpu(n) + t_cpu + t_com) * noise[0]
            kernel = {"phases": {"kernel": (gpu(n) * noise[1]).tolist()}} if phases else {}
            cells.append(step(n, 1, whole.tolist(), **kernel))
        return dataset([machine(), *cells])

    model = "work+linear+star-serial"
    without = gc.fit(timed(False), model=model, replicates=0).content["parameters"]["t_0"]
    overhead = gc.fit(timed(True), model=model, replicates=0).content["parameters"]["t_0"]
    assert not without["identified"]
    assert overhead["identified"]
    assert abs(overhead["value"] - 5e-4) < 4 * overhead["stderr"]


def test_of_long_records_samples_are_taken_evenly() -> None:
    most = problems.MOST_SAMPLES
    long = transfer("h2d", 1024, np.arange(1, 1001) * 1e-6)
    waits = launch(10, np.arange(1, 101) * 1e-5)
    seen = of_sizes([1000], (1,), long, waits).observations()
    assert seen.sample_count == 1 + 2 * most
    few = transfer("h2d", 1024, [1e-6] * most)
    assert of_sizes([1000], (1,), few).observations().sample_count == 1 + most
