"""Where chained terms bend, how models of them are named, and what a fit takes from records."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.fitting import problem as problems
from gpucast.fitting.candidates import Candidate, candidates, routes_of, straight
from gpucast.fitting.piecewise import CELLS_A_PIECE, MOST_PIECES, cpu_breakpoints, gpu_breakpoints
from gpucast.fitting.problem import Problem
from gpucast.fitting.selection import pose
from made_data import (
    BLOCK,
    NATIVE,
    SMS,
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
    return pose(dataset([machine(), *cells, *extra]))


# residency and pairs


def test_residency_bends_at_every_number_of_blocks_but_the_largest() -> None:
    wave = SMS * BLOCK
    assert gpu_breakpoints(of_sizes([wave, wave + 1, 4 * wave, 7 * wave]), "residency") == (1, 2, 4)
    # Two GPUs get half of the blocks each: 1 and 2 of 12 x 256 threads.
    assert gpu_breakpoints(of_sizes([2 * wave, 4 * wave], (2,)), "residency") == (1,)


def test_residency_of_one_level_has_no_bend() -> None:
    assert gpu_breakpoints(of_sizes([100, 200, 3000]), "residency") == ()


def test_residency_of_many_levels_keeps_its_ends() -> None:
    wave = SMS * BLOCK
    found = gpu_breakpoints(of_sizes([wave * level for level in range(1, 61)]), "residency")
    assert len(found) == MOST_PIECES - 1
    assert found[0] == 1
    assert max(found) < 60
    assert list(found) == sorted(set(found))


def test_pairs_bends_so_often_that_each_piece_has_cells() -> None:
    sizes = [round(1000 * 2 ** (i / 2)) for i in range(12)]
    found = gpu_breakpoints(of_sizes(sizes), "pairs")
    assert len(found) == len(sizes) // CELLS_A_PIECE - 1
    edges = [0.0, *found, float("inf")]
    pairs = np.array(sizes, dtype=float) ** 2
    for low, high in itertools.pairwise(edges):
        assert np.sum((low < pairs) & (pairs <= high)) >= CELLS_A_PIECE - 1
    # Sizes in equal steps of their logarithm: so are the bends.
    assert np.diff(np.log(found)) == pytest.approx(np.log(found[1] / found[0]), rel=1e-3)


def test_few_sizes_make_one_piece() -> None:
    assert gpu_breakpoints(of_sizes([1000, 2000, 4000, 8000, 16000]), "pairs") == ()


@pytest.mark.parametrize("term", ["wave", "occupancy", "work"])
def test_terms_that_are_no_chains_have_no_bends(term: str) -> None:
    assert gpu_breakpoints(of_sizes([1000 * 2**i for i in range(10)]), term) == ()


# cached


def of_host_times(seconds: Any, sizes: list[int]) -> Problem:
    rng = np.random.default_rng(4)
    cells = []
    for n in sizes:
        cpu = seconds(n) * np.exp(0.01 * rng.standard_normal(5))
        cells.append(step(n, 1, [10 * seconds(n)] * 5, phases={"cpu": cpu.tolist()}))
    return pose(dataset([machine(), *cells]))


SIZES = [round(1000 * 1.5**i) for i in range(16)]


def test_cached_bends_where_a_particle_begins_to_cost_more() -> None:
    found = cpu_breakpoints(
        of_host_times(lambda n: 3e-9 * n + 6e-9 * max(0, n - 30000), sizes=SIZES)
    )
    assert any(15000 < each < 60000 for each in found)


def test_a_host_whose_particles_all_cost_the_same_does_not_bend() -> None:
    assert cpu_breakpoints(of_host_times(lambda n: 3e-9 * n, sizes=SIZES)) == ()


def test_without_host_times_or_with_few_nothing_bends() -> None:
    assert cpu_breakpoints(of_sizes(SIZES)) == ()
    few = of_host_times(lambda n: 3e-9 * n + 6e-9 * max(0, n - 3000), sizes=SIZES[:5])
    assert cpu_breakpoints(few) == ()


# Named models


def test_a_chain_is_named_by_its_term_and_can_be_asked_for() -> None:
    wave = SMS * BLOCK
    problem = of_sizes([wave, 2 * wave, 3 * wave])
    first = candidates(problem, "residency+linear+star-serial-poll", straight(problem))[0]
    assert first.name == "residency+linear+star-serial-poll"
    assert first.gpu_breakpoints == (1, 2)
    assert [name for name, _, _ in first.model(problem).parameters][:4] == [
        "t_0", "t_blk_1", "t_blk_2", "t_blk"
    ]  # fmt: skip


def test_complexity_counts_parameters_but_those_of_the_schedule() -> None:
    problem = of_sizes([1000, 2000], (1, 2))
    routes = (("h2d", ()), ("d2h", ()))
    serial = Candidate("work", "linear", "star-serial", routes)
    # t_0, t_pair, t_root; t_cpu; two lines of two.
    assert serial.complexity(problem) == 3 + 1 + 4
    for com in ("star-async", "star-async-poll", "star-async-turns"):
        assert Candidate("work", "linear", com, routes).complexity(problem) == 8
    # The share of a further GPU's copies that is seen.
    assert Candidate("work", "linear", "star-serial-poll", routes).complexity(problem) == 9
    assert Candidate("work", "affine", "star-serial", routes).complexity(problem) == 9
    assert Candidate("wave", "linear", "star-serial", routes).complexity(problem) == 6
    chain = Candidate("pairs", "linear", "star-serial", routes, (1e6, 1e7))
    # t_0 and three pieces of t_pair.
    assert chain.complexity(problem) == 4 + 1 + 4
    bent = Candidate("work", "linear", "star-serial", (("h2d", (4096.0,)), ("d2h", ())))
    assert bent.complexity(problem) == 9


# What a fit takes


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
    found = gc.fit(dataset([*made, *others]), model="paper", replicates=0).content
    plain = gc.fit(dataset(made), model="paper", replicates=0).content
    assert found["breakpoints"].keys() == {"h2d", "d2h"}
    assert found["parameters"] == plain["parameters"]
    assert found["observations"] == plain["observations"]


@pytest.mark.parametrize(
    ("schedule", "alone"), [("star-serial", True), ("star-async", False), ("allgather", False)]
)
def test_kernel_phases_are_kernels_alone_under_star_serial_only(schedule: str, alone: bool) -> None:
    phases = {"kernel": [8e-4, 0.0, 9e-4], "cpu": [1e-5, 1e-5, 1e-5]}
    cell = step(1000, 2, [1e-3, 1e-3, 1e-3], schedule=schedule, phases=phases)
    seen = pose(dataset([machine(), cell])).observations()
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
    found = gc.fit(timed(True), model=model, replicates=0).content["parameters"]["t_0"]
    assert not without["identified"]
    assert found["identified"]
    assert abs(found["value"] - 5e-4) < 4 * found["stderr"]


def test_of_long_records_samples_are_taken_evenly() -> None:
    most = problems.MOST_SAMPLES
    long = transfer("h2d", 1024, np.arange(1, 1001) * 1e-6)
    waits = launch(10, np.arange(1, 101) * 1e-5)
    seen = of_sizes([1000], (1,), long, waits).observations()
    assert seen.sample_count == 1 + 2 * most
    few = transfer("h2d", 1024, [1e-6] * most)
    assert of_sizes([1000], (1,), few).observations().sample_count == 1 + most


# The model file


def chained(seed: int = 7) -> gc.Dataset:
    """A kernel that a fuller GPU runs faster, in steps of which the host's part is timed."""
    rng = np.random.default_rng(seed)
    cells = []
    for n in (500, 1000, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 24000, 32000, 64000):
        for gpus in (1, 2):
            pairs = np.ceil(n / gpus) * n
            _, t_cpu, t_com = NATIVE.terms(np.array(float(n)), np.array(float(gpus)))
            t_gpu = 1e-5 + 1e-10 * min(pairs, 2e7) + 2e-11 * max(0, pairs - 2e7)
            host = t_cpu * (1 if n < 10000 else 2 - 10000 / n)
            noise = np.exp(0.01 * rng.standard_normal((2, 5)))
            cells.append(
                step(
                    n,
                    gpus,
                    (t_gpu + host + t_com) * noise[0],
                    phases={"cpu": (host * noise[1]).tolist()},
                )
            )
    return dataset([machine(), *cells, *microbenchmarks(NATIVE, rng)])


@pytest.fixture(scope="module")
def model() -> gc.Model:
    return gc.fit(chained(), model="pairs+cached+star-serial", replicates=50)


def test_chains_stand_in_the_model_file(model: gc.Model, tmp_path: Path) -> None:
    chains = model.content["chains"]
    problem = pose(chained())
    assert chains["gpu"] == list(gpu_breakpoints(problem, "pairs"))
    assert chains["cpu"] == list(cpu_breakpoints(problem))
    assert chains["gpu"]
    assert chains["cpu"]
    model.save(tmp_path / "m.json")
    again = gc.load_model(tmp_path / "m.json")
    assert again.content == model.content
    assert again.core.gpu_breakpoints == chains["gpu"]
    assert again.core.cpu_breakpoints == chains["cpu"]


def test_a_saved_model_of_chains_forecasts_the_same(model: gc.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.json")
    again = gc.load_model(tmp_path / "m.json")
    n = np.repeat([700.0, 5000.0, 30000.0, 100000.0], 4)
    gpus = np.tile([1.0, 2.0, 3.0, 4.0], 4)
    mine, theirs = model.forecasts(n, gpus), again.forecasts(n, gpus)
    for part in ("seconds", "t_gpu", "t_cpu", "t_com"):
        assert np.array_equal(getattr(mine, part), getattr(theirs, part))
    assert theirs.high == pytest.approx(mine.high, rel=1e-6)


def test_a_model_file_from_before_chains_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    data = dataset([machine(), *steps(NATIVE.seconds, rng), *microbenchmarks(NATIVE, rng)])
    new = gc.fit(data, model="paper", replicates=50)
    path = tmp_path / "old.json"
    new.save(path)
    content = json.loads(path.read_text())
    del content["chains"]
    path.write_text(json.dumps(content))
    old = gc.load_model(path)
    n, gpus = [1e3, 1e4, 1e5], [1.0, 2.0, 8.0]
    assert np.array_equal(old.forecasts(n, gpus).seconds, new.forecasts(n, gpus).seconds)
    old.save(tmp_path / "again.json")
    assert gc.load_model(tmp_path / "again.json").content == old.content


@pytest.mark.parametrize(
    ("chains", "said"),
    [
        ({"gpu": [1.0]}, "chains.cpu: missing"),
        ({"gpu": [0.0], "cpu": []}, "chains.gpu[0]: must be"),
        ({"gpu": "1", "cpu": []}, "chains.gpu: must be a list"),
        ({"gpu": [], "cpu": []}, "other parameters"),
    ],
)
def test_damaged_chains_are_refused_by_key(
    model: gc.Model, tmp_path: Path, chains: Any, said: str
) -> None:
    path = tmp_path / "m.json"
    model.save(path)
    content = json.loads(path.read_text())
    content["chains"] = chains
    path.write_text(json.dumps(content))
    with pytest.raises(gc.InputError) as caught:
        gc.load_model(path)
    assert said in str(caught.value)


def test_what_if_keeps_the_chains(model: gc.Model) -> None:
    far = microbenchmarks(NATIVE, np.random.default_rng(9), path="far")
    other = gc.what_if(model, dataset([machine(), *far]))
    assert other.content["chains"] == model.content["chains"]
    n, gpus = [1e3, 3e4], [2.0, 2.0]
    assert np.array_equal(other.forecasts(n, gpus).t_gpu, model.forecasts(n, gpus).t_gpu)
