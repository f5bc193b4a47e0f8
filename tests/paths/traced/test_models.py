"""Models of another path from traces of several sizes: against traces of the sizes left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpucast as gc
from command_line import Run, assert_refused, only_json
from gpucast.answers.caveats import caveats
from gpucast.data.formats import Options
from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.parts import StepParts, parts_of
from gpucast.data.traces.records import record_of
from gpucast.data.traces.trace import RunDescription, Trace
from gpucast.data.traces.writing import write
from gpucast.model.fitted import Model
from gpucast.model.lone_count import NOT_KNOWN
from gpucast.paths.traced.forecast import EXTRA, trace_on_path
from gpucast.paths.traced.from_trace import traced_programs
from gpucast.paths.traced.models import CellOnPath, cell_on, common_sd, fitted, parts_on
from gpucast.paths.traced.path import PathCosts, path_costs
from gpucast.paths.traced.program import Operation
from gpucast.paths.traced.timeline import natively
from gpucast.paths.traced.workload import Traced, workload_of
from made_traces import MadeTrace

US = 1e-6
STEPS = 30
PATH = "remote"


@pytest.fixture(scope="module")
def data() -> gc.Dataset:
    return gc.load("h200-traces")


@pytest.fixture(scope="module")
def costs(data: gc.Dataset) -> PathCosts:
    return path_costs(data, PATH)


def program(n: int, gpus: int = 1, *, launches: int = 1, name: str = "./made") -> Trace:
    """Positions to each GPU, kernels that share the work out, results back; the host's 20 us."""
    made = MadeTrace(program=name, bandwidth=50e9)
    for _ in range(STEPS):
        made.host(20 * US)
        for device in range(gpus):
            stream = 20 + device
            made.copy(16 * n, "h2d", memory="pinned", blocking=False, stream=stream, device=device)
            for _ in range(launches):
                made.launch(
                    "kernel", seconds=5 * US + 1e-8 * n / gpus, stream=stream, device=device
                )
            made.copy(
                12 * n // gpus, "d2h", memory="pinned", blocking=False, stream=stream, device=device
            )
        for device in range(gpus):
            made.wait_stream(20 + device, device=device)
    trace = made.trace()
    command = [name, "--n", str(n)]
    run = RunDescription(source="cupti", command=command, machine=trace.run.machine)
    return replace(trace, run=run)


def cell(costs: PathCosts, n: int, gpus: int = 1, **how: int) -> CellOnPath:
    trace = program(n, gpus, **how)
    steps = find_steps(trace)
    record = record_of(trace, steps, "made", Options())
    return cell_on(record, traced_programs(trace, steps=steps), costs)


def model_of(cells: list[CellOnPath], data: gc.Dataset, costs: PathCosts) -> Model:
    return fitted(cells, data, costs, "made").model


SIZES = (1000, 4000, 16000)


@pytest.fixture(scope="module")
def on_one(data: gc.Dataset, costs: PathCosts) -> Model:
    """What traces on one GPU make."""
    return model_of([cell(costs, n) for n in SIZES], data, costs)


@pytest.fixture(scope="module")
def on_two(data: gc.Dataset, costs: PathCosts) -> Model:
    """What traces on one GPU and on two make."""
    return model_of([cell(costs, n, gpus) for n in SIZES for gpus in (1, 2)], data, costs)


def test_parts_of_native_steps_are_those_of_the_trace() -> None:
    trace = program(4000)
    (steps,) = find_steps(trace).processes
    recorded = parts_of(trace.processes[0], steps)
    program_made = traced_programs(trace)[0]
    told = parts_on(program_made, natively(program_made))
    for name in ("gpu", "cpu", "com"):
        assert getattr(told, name) == pytest.approx(getattr(recorded, name), abs=0.3 * US)


def test_a_size_beyond_the_traces_is_forecast_as_its_own_trace_would_be(
    data: gc.Dataset, on_two: Model
) -> None:
    for n, gpus in ((64000, 1), (64000, 2), (8000, 1), (256000, 1)):
        own = trace_on_path(program(n, gpus), data, PATH)
        forecasts = on_two.forecasts([n], [gpus])
        assert forecasts.seconds[0] == pytest.approx(own.seconds, rel=0.15)
        assert forecasts.low[0] < own.seconds < forecasts.high[0]
    assert on_two.extrapolates(np.array([64000.0]), np.array([1.0])).all()
    assert not on_two.extrapolates(np.array([8000.0]), np.array([2.0])).any()


def test_a_workload_scales_bytes_exactly_and_kernels_by_their_forms(costs: PathCosts) -> None:
    cells = [Traced(n, 1, traced_programs(program(n))[0]) for n in SIZES]
    workload = workload_of(cells)
    made, _ = workload.at(64000, costs)
    copies = made.program.operation == Operation.copy
    assert set(made.program.bytes[copies].tolist()) == {16 * 64000, 12 * 64000}
    assert made.kernels == pytest.approx(5 * US + 1e-8 * 64000, rel=0.1)
    # The host's 20 us do not grow.
    assert made.host == pytest.approx(cells[-1].host)


def test_calls_that_change_with_n_are_not_scaled() -> None:
    cells = [
        Traced(n, 1, traced_programs(program(n, launches=at + 1))[0]) for at, n in enumerate(SIZES)
    ]
    assert workload_of(cells) is None
    assert workload_of(cells[:1]) is None


def test_steps_that_may_be_parts_of_steps_are_named_and_doubted(
    data: gc.Dataset, costs: PathCosts, on_one: Model
) -> None:
    message = "a step launches 1 to 4 kernels a GPU"
    assert not any(message in text for text in on_one.warnings)
    unlike = [cell(costs, n, launches=1 + 3 * (n == SIZES[2])) for n in SIZES]
    model = model_of(unlike, data, costs)
    assert any(message in text for text in model.warnings)
    assert any(message in text for text in caveats(model, np.array([4000.0]), np.array([1.0])))


def test_a_trace_that_lost_its_kernels_says_nothing_of_the_workload() -> None:
    cells = [Traced(n, 1, traced_programs(program(n))[0]) for n in SIZES]
    first = cells[0].program
    lost = replace(first, seconds=np.where(first.operation == Operation.launch, 0, first.seconds))
    assert workload_of([replace(cells[0], program=lost), *cells[1:]]) is None


def test_what_cells_have_in_common_is_found_again(costs: PathCosts) -> None:
    """What is not native moves every cell by its share of T_com times one d, which comes back."""
    example = cell(costs, 1000)
    d = 0.1
    cells = []
    for share in (0.2, 0.5, 0.9):
        parts, native = StepParts(1 - share, 0.0, share), 1 - (d * share / EXTRA) ** 2
        cells.append(replace(example, parts=parts, seconds=1.0, native=native))
    assert common_sd(cells) == pytest.approx(d)


def test_more_traces_do_not_average_the_paths_uncertainty_out(
    data: gc.Dataset, costs: PathCosts, on_one: Model
) -> None:
    many = model_of(
        [cell(costs, n) for n in (1000, 2000, 4000, 6000, 8000, 12000, 16000)], data, costs
    )
    for model in (on_one, many):
        forecasts = model.forecasts([4000], [1])
        least = min(traced.sd for traced in model.simulated.cells)
        kernels = float(forecasts.t_gpu[0] / forecasts.seconds[0])
        # Visits differ by 6.7 % of what is not kernels' time.
        visit = 0.06 * (1 - kernels)
        # 90 % of a normal distribution are 1.645 standard deviations to either side.
        half = float(np.log(forecasts.high[0] / forecasts.low[0])) / 2
        assert half > 1.6 * np.hypot(0.9 * least, visit)
        expected = float(np.log(forecasts.mean_high[0] / forecasts.mean_low[0])) / 2
        assert expected > 1.6 * 0.9 * least


def test_simulated_cells_are_no_measurements(on_one: Model) -> None:
    assert on_one.timed is None
    assert np.isnan(on_one.measured(np.array([1000.0]), np.array([1.0]))).all()
    assert on_one.selection.path == PATH
    draws = on_one.draws(np.array([4000.0]), np.array([1.0]), 500)
    assert np.median(draws) == pytest.approx(
        on_one.seconds(np.array([4000.0]), np.array([1.0]))[0], rel=0.1
    )


# ---- the command -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("traces")
    made = []
    for n in SIZES:
        for gpus in (1, 2):
            made.append(folder / f"n{n}-gpus{gpus}.trace")
            write(program(n, gpus), made[-1])
    return made


def test_other_commands_take_the_model_like_any_other(
    run: Run, files: list[Path], tmp_path: Path
) -> None:
    native, remote = tmp_path / "native.json", tmp_path / "remote.json"
    assert run("fit", *files, "-o", native)[0] == 0
    command = ("what-if", *files, "--path", PATH, "--data", "h200-traces", "-o", remote)
    status, out, _ = run(*command)
    assert status == 0
    assert f"Model written to {remote}" in out
    assert_refused(run(*command), "remote.json")
    status, out, _ = run("predict", remote, "-n", "8000", "--gpus", "1,2", "--json")
    assert status == 0
    assert {row["gpus"] for row in only_json(out)["forecast"]} == {1, 2}
    status, out, _ = run("compare", native, remote, "-n", "8000", "--gpus", "1,2", "--json")
    assert status == 0
    assert all(row["ratio"] > 1 for row in only_json(out)["ratio"])
    assert run("report", native, remote, "-o", tmp_path / "report.html")[0] == 0


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        ((0,), ("-o", "OUT"), "a model needs 3"),
        ((0, 1), (), "-o: where to write the model"),
        ((0, 2, 4), ("-o", "OUT", "--map", "m.png"), "--map: is of one trace"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    run: Run, files: list[Path], tmp_path: Path, names: tuple[int, ...],
    options: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    given = [str(tmp_path / "out.json") if word == "OUT" else word for word in options]
    chosen = [files[word] for word in names]
    finished = run("what-if", *chosen, "--path", PATH, "--data", "h200-traces", *given)
    assert_refused(finished, said)


def test_traces_of_several_programs_make_no_model(
    run: Run, files: list[Path], tmp_path: Path
) -> None:
    write(program(2000, name="./other"), tmp_path / "other")
    finished = run(
        "what-if", *files, tmp_path / "other", "--path", PATH, "--data", "h200-traces",
        "-o", tmp_path / "out.json",
    )  # fmt: skip
    assert_refused(finished, "traces of several programs or cases: made; other")


def test_a_trace_is_no_model(run: Run, files: list[Path]) -> None:
    assert_refused(run("predict", files[0], "-n", "10"), "is a trace, not a model")


def test_traces_of_one_gpu_count_say_nothing_of_others(on_one: Model) -> None:
    forecasts = on_one.forecasts([4000.0] * 4, [1.0, 2.0, 4.0, 8.0])
    # As long as on one, within division among all GPUs and several times as long.
    assert forecasts.seconds == pytest.approx(forecasts.seconds[0], rel=1e-6)
    assert forecasts.low == pytest.approx(forecasts.low[0] / forecasts.gpus)
    assert (forecasts.high[1:] > 3 * forecasts.seconds[0]).all()
    (best,) = on_one.best_counts([4000.0], [1, 2, 4, 8])
    assert best["gpus"] == 1
    assert best["probability"] == pytest.approx(0.5, abs=0.05)
    assert caveats(on_one, forecasts.n, forecasts.gpus)[0] == NOT_KNOWN
    assert NOT_KNOWN not in caveats(on_one, forecasts.n[:1], forecasts.gpus[:1])


def test_draws_of_other_counts_are_as_wide_as_their_intervals(on_one: Model) -> None:
    n, gpus = np.full(2, 4000.0), np.array([1.0, 4.0])
    forecasts, draws = on_one.forecasts(n, gpus), on_one.draws(n, gpus, 400)
    low, high = np.quantile(draws, (0.05, 0.95), axis=0)
    assert np.log(low) == pytest.approx(np.log(forecasts.mean_low), abs=0.2)
    assert np.log(high) == pytest.approx(np.log(forecasts.mean_high), abs=0.2)
    assert (draws[:, 1] >= draws[:, 0] / 4 * (1 - 1e-9)).all()


def test_traces_of_two_gpu_counts_say_how_time_changes(on_two: Model) -> None:
    assert on_two.lone_gpus is None
    forecasts = on_two.forecasts([4000.0] * 2, [1.0, 2.0])
    assert forecasts.high[1] / forecasts.low[1] < 2
    assert NOT_KNOWN not in caveats(on_two, forecasts.n, forecasts.gpus)


def test_a_model_is_as_sure_of_a_traced_cell_as_its_trace(data: gc.Dataset, on_one: Model) -> None:
    for n in SIZES:
        own = trace_on_path(program(n), data, PATH)
        forecasts = on_one.forecasts([n], [1])
        assert forecasts.seconds[0] == pytest.approx(own.seconds, rel=0.01)
        assert forecasts.low[0] == pytest.approx(own.low, rel=0.06)
        assert forecasts.high[0] == pytest.approx(own.high, rel=0.06)
