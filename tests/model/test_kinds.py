"""Ratios of times between kinds of GPUs, against Gaussian conditioning written out."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

import gpucast as gc
from gpucast.answers.caveats import caveats
from gpucast.data.kinds import Timing, catalogue, kind_named, timings
from gpucast.errors import InputError
from gpucast.model import kinds
from gpucast.model.fitted import Model
from gpucast.model.mixtures import MeasuredParts
from made_data import dataset, machine, step, whole
from other_programs import md

ROWS = [
    Timing("a", "p", "fp32", "A100-SXM4-80GB", 10.0, ""),
    Timing("a", "p", "fp32", "H100-SXM5", 17.0, ""),
    Timing("a", "q", "fp16", "A100-SXM4-80GB", 3.0, ""),
    Timing("a", "q", "fp16", "H100-SXM5", 7.0, ""),
    Timing("a", "q", "fp16", "H100-PCIe", 5.0, ""),
    Timing("b", "r", "fp32", "H100-PCIe", 5.0, ""),
    Timing("b", "r", "fp32", "RTX-4090", 4.0, ""),
    Timing("b", "r", "fp32", "MI210", 3.0, ""),
]
VALUES = np.linspace(0.01, 0.19, 19)
FACTORS = {"a": np.array([0.5, 0.9, 0.7])}
VARIANCES = kinds.Variances(VALUES, FACTORS)


def written_out(one: Timing, two: Timing, same_row: bool) -> float:
    """The covariance of two rows, term by term as the module's docstring has it."""
    bandwidth, fp32, peak = 1e12, 3e13, 1e14
    factors = FACTORS.get(one.family, np.ones(3))
    total = 100.0 * (one.program == two.program)
    shared = (True, one.family == two.family, one.program == two.program)
    first, second = catalogue()[one.kind], catalogue()[two.kind]
    for level, is_shared in enumerate(shared):
        terms = (
            np.log(first.bandwidth / bandwidth) * np.log(second.bandwidth / bandwidth),
            np.log(first.peaks["fp32"] / fp32) * np.log(second.peaks["fp32"] / fp32),
            np.log(first.peaks[one.precision] / peak) * np.log(second.peaks[two.precision] / peak),
            one.kind == two.kind,
            first.architecture == second.architecture,
            first.source.split()[0] == second.source.split()[0],
        )
        variances = VALUES[6 * level : 6 * level + 6]
        factor = factors[level - 1] if level else 1.0
        total += is_shared * factor * sum(v * t for v, t in zip(variances, terms, strict=True))
    return float(total + factors[2] * VALUES[18] * same_row)


def by_hand(rows: list[Timing]) -> NDArray[np.float64]:
    return np.array(
        [
            [written_out(one, two, i == j) for j, two in enumerate(rows)]
            for i, one in enumerate(rows)
        ]
    )


def test_the_covariance_is_as_written() -> None:
    assert np.allclose(kinds.covariance(ROWS, VARIANCES), by_hand(ROWS))


def test_rows_left_out_are_conditioned_on_the_others() -> None:
    block, rest = np.array([2, 3, 4]), np.array([0, 1, 5, 6, 7])
    matrix, y = by_hand(ROWS), np.log([row.rate for row in ROWS])
    gain = matrix[np.ix_(block, rest)] @ np.linalg.inv(matrix[np.ix_(rest, rest)])
    mean, spread = kinds.left_out(ROWS, VARIANCES, block)
    assert np.allclose(mean, gain @ y[rest])
    assert np.allclose(spread, matrix[np.ix_(block, block)] - gain @ matrix[np.ix_(rest, block)])


def posterior(rows: Sequence[Timing], variances: kinds.Variances) -> float:
    """ln of the rates' density, and of the factors' normal one, up to a constant."""
    y = np.log([row.rate for row in rows])
    density = multivariate_normal(np.zeros(y.size), kinds.covariance(rows, variances)).logpdf(y)
    factors = np.log(list(variances.factors.values()))
    return float(density) - float(np.sum(factors**2)) / (2 * np.log(2.0) ** 2)


def test_the_fit_is_the_most_probable() -> None:
    rows = [*timings()[:40], *timings()[-30:]]
    fit = kinds.fit(rows)
    best = posterior(rows, fit)
    assert len(fit.factors) > 1
    for change in (0.5, 2.0):
        for i in range(fit.values.size):
            moved = fit.values.copy()
            # What is at its limit of next to nothing may not fall.
            moved[i] = max(moved[i] * change, np.exp(-14.0))
            assert posterior(rows, replace(fit, values=moved)) <= best + 0.01
        for family, own in fit.factors.items():
            for i in range(own.size):
                factors = fit.factors | {family: np.where(np.arange(3) == i, change * own, own)}
                assert posterior(rows, replace(fit, factors=factors)) <= best + 0.01


def test_the_widening_holds_nine_tenths_of_ratios_also_with_a_further_kind_told() -> None:
    """Program by program and pair by pair, by conditioning on all that other campaigns know."""
    rows = [row for row in timings() if row.family in ("training", "password-hashing")][::3]
    assert len({row.campaign for row in rows}) > 3
    variances = kinds.Variances(VALUES / 100, {})  # small beside the variance of a_p
    matrix = kinds.covariance(rows, variances)
    y, programs = np.log([row.rate for row in rows]), [row.program for row in rows]
    quantiles = []
    for more in (0, 1):
        scores: list[tuple[float, float]] = []
        for program in dict.fromkeys(programs):
            block = [i for i, name in enumerate(programs) if name == program]
            rest = [i for i, row in enumerate(rows) if row.campaign != rows[block[0]].campaign]
            own: list[float] = []
            for first, second in itertools.combinations(range(len(block)), 2):
                if rows[block[first]].kind == rows[block[second]].kind or len(block) < 2 + more:
                    continue
                places = [(second + step) % len(block) for step in (1, 2)]
                known = [first, *[place for place in places if place != first][:more]]
                given = [*rest, *[block[place] for place in known]]
                at = block[second]
                gain = np.linalg.solve(matrix[np.ix_(given, given)], matrix[given, at])
                sd = np.sqrt(matrix[at, at] - gain @ matrix[given, at])
                own.append(abs(y[at] - gain @ y[given]) / sd)
            scores += [(score, 1 / len(own)) for score in own]
        scores.sort()
        weights = np.cumsum([weight for _, weight in scores])
        quantiles.append(scores[int(np.searchsorted(weights, 0.9 * weights[-1]))][0])
    assert kinds.widening(rows, variances) == pytest.approx(max(quantiles) / 1.645, rel=1e-2)


@pytest.mark.slow
def test_the_bundled_variances_are_those_of_the_bundled_timings() -> None:
    stored = kinds.fitted()
    best = kinds.fit(timings(), stored)
    assert posterior(timings(), stored) == pytest.approx(posterior(timings(), best), abs=0.1)
    assert stored.widening == pytest.approx(best.widening, rel=0.01)


def test_a_ratio_follows_from_all_timings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "timings", lambda: tuple(ROWS))
    monkeypatch.setattr(kinds, "fitted", lambda: kinds.Variances(VALUES, FACTORS, 1.5))
    asked = [Timing("a", "new", "fp32", kind, 1.0, "") for kind in ("A100-SXM4-80GB", "H100-SXM5")]
    matrix, y = by_hand([*ROWS, *asked]), np.log([row.rate for row in ROWS])
    difference = np.array([1.0, -1.0])
    count = len(ROWS)
    gain = matrix[count:, :count] @ np.linalg.inv(matrix[:count, :count])
    left = matrix[count:, count:] - gain @ matrix[:count, count:]
    ratio = kinds.time_ratio(kind_named("A100 80GB SXM4"), kind_named("H100-SXM5"), "a")
    assert ratio.mean == pytest.approx(difference @ gain @ y)
    assert ratio.sd == pytest.approx(1.5 * np.sqrt(difference @ left @ difference))
    unlike = kinds.time_ratio(kind_named("A100 80GB SXM4"), kind_named("H100-SXM5"))
    assert unlike.sd > ratio.sd


def test_a_further_kind_is_conditioned_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its rates, and that of 1 on the kind fitted on, were timings of a program."""
    monkeypatch.setattr(kinds, "timings", lambda: tuple(ROWS))
    monkeypatch.setattr(kinds, "fitted", lambda: kinds.Variances(VALUES, FACTORS, 1.3))
    own, other = catalogue()["A100-SXM4-80GB"], catalogue()["H100-SXM5"]
    known = [
        Timing("a", "", "fp32", "A100-SXM4-80GB", 1.0, ""),
        Timing("a", "", "fp32", "H100-PCIe", 1.5, ""),
    ]
    there = Timing("a", "", "fp32", "H100-SXM5", 1.0, "")
    ratio = kinds.time_ratio(own, other, "a", {"H100-PCIe": -np.log(1.5)})
    every = [*ROWS, *known, there, known[0]]
    matrix = np.array([[written_out(a, b, i == j) for j, b in enumerate(every)]
                       for i, a in enumerate(every)])  # fmt: skip
    count = len(ROWS) + 2
    y = np.log([row.rate for row in every[:count]])
    gain = matrix[count:, :count] @ np.linalg.inv(matrix[:count, :count])
    mean = gain @ y
    left = matrix[count:, count:] - gain @ matrix[:count, count:]
    assert ratio.mean == pytest.approx(mean[1] - mean[0], rel=1e-6)
    variance = left[0, 0] + left[1, 1] - 2 * left[0, 1]
    assert ratio.sd == pytest.approx(1.3 * np.sqrt(variance), rel=1e-6)


def test_kinds_are_known_by_what_drivers_print() -> None:
    for printed, kind in (
        ("NVIDIA H100 80GB HBM3", "H100-SXM5"),
        ("A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("h200", "H200-SXM5"),
        ("H100 SXM", "H100-SXM5"),
        ("H200 SXM", "H200-SXM5"),
        ("A100 80GB", "A100-SXM4-80GB"),
        ("A100 40GB", "A100-SXM4-40GB"),
    ):
        assert kind_named(printed).name == kind
    with pytest.raises(InputError, match=r"near: .*RTX-4090"):
        kind_named("RTX 4099")
    assert {row.kind for row in timings()} <= set(catalogue())


def test_a_kind_without_timings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "timings", lambda: tuple(ROWS))
    with pytest.raises(InputError, match="cannot be calibrated"):
        kinds.time_ratio(kind_named("H100-SXM5"), kind_named("L4"))


@pytest.fixture(scope="module")
def fitted() -> Model:
    return gc.fit(whole(), replicates=20)


def test_parts_get_factors_of_their_own(fitted: Model) -> None:
    moved = gc.what_if(fitted, kind="H100-SXM5", from_kind="A100-SXM4-80GB")
    ratio = kinds.time_ratio(kind_named("A100-SXM4-80GB"), kind_named("H100-SXM5"))
    n, gpus = [8000.0, 64000.0], [1.0, 4.0]
    before, after = fitted.forecasts(n, gpus), moved.forecasts(n, gpus)
    assert after.t_gpu == pytest.approx(np.exp(ratio.mean) * before.t_gpu)
    assert after.t_cpu == pytest.approx(before.t_cpu)
    assert after.t_com == pytest.approx(before.t_com)
    assert (after.high / after.low > before.high / before.low).all()


def test_cells_narrow_and_move_it(fitted: Model) -> None:
    there = [(8000.0, 1.0), (64000.0, 1.0), (64000.0, 4.0)]
    seconds = 0.6 * fitted.forecasts(*zip(*there, strict=True)).seconds
    asked, widths, off = ([64000.0], [2.0]), [], []
    truth = 0.6 * fitted.forecasts(*asked).seconds[0]
    for count in (0, 1, 3):
        cells = [
            step(int(n), int(gpus), [time], machine="there")
            for (n, gpus), time in zip(there[:count], seconds.tolist(), strict=False)
        ]
        data = dataset([machine(name="there"), *cells], name="cells") if count else None
        moved = gc.what_if(fitted, kind="H100-SXM5", from_kind="A100-SXM4-80GB", cells=data)
        forecast = moved.forecasts(*asked)
        widths.append(forecast.high[0] / forecast.low[0])
        off.append(abs(np.log(forecast.seconds[0] / truth)))
    assert widths[0] > widths[1] > widths[2]
    assert off[2] < 0.1


def test_a_size_told_is_known_and_others_the_less_the_farther_they_are() -> None:
    """One size is timed well: the nearer another one is, the more that tells of it."""
    model = md()
    n, gpus = model.domain.n[0], model.domain.gpus[0]
    time = 0.5 * float(model.forecasts([n], [gpus]).seconds[0])
    cells = [step(int(n), int(gpus), [time] * 20, machine="there", program="md")]
    data = dataset([machine(name="there"), *cells], name="cells")
    moved = gc.what_if(model, kind="H100-SXM5", from_kind="A100-SXM4-80GB")
    told = moved.updated(data)
    ratio = kinds.time_ratio(kind_named("A100-SXM4-80GB"), kind_named("H100-SXM5"))
    own = min(0.4 * abs(ratio.mean), ratio.sd / np.sqrt(2))
    assert told.machine_factors.own == pytest.approx(own)
    asked = [factor * n for factor in (1, 2, 10, 100, 1e4, 1e8)]
    forecasts = told.forecasts(asked, [gpus] * len(asked))
    spread = forecasts.spread.tolist()
    assert spread == sorted(spread)
    assert spread[0] < own / 2 < own < spread[-1]
    assert forecasts.seconds[0] == pytest.approx(time, rel=0.05)
    # Draws have these spreads, and a time that is common to all counts of a size.
    draws = told.draws(np.array(asked), np.full(len(asked), float(gpus)), 4000)
    assert np.std(np.log(draws), axis=0) == pytest.approx(forecasts.spread, rel=0.1)
    assert np.median(draws, axis=0) == pytest.approx(forecasts.seconds, rel=0.02)


def test_a_model_file_keeps_what_cells_tell_of_sizes(tmp_path: Path) -> None:
    model = md()
    n, gpus = model.domain.n, model.domain.gpus[0]
    times = 0.5 * model.forecasts(list(n), [gpus] * 2).seconds
    cells = [
        step(int(size), gpus, [time], machine="there", program="md")
        for size, time in zip(n, times.tolist(), strict=True)
    ]
    data = dataset([machine(name="there"), *cells], name="cells")
    moved = gc.what_if(model, kind="H100-SXM5", from_kind="A100-SXM4-80GB", cells=data)
    moved.save(tmp_path / "moved.json")
    again = gc.load_model(tmp_path / "moved.json")
    one, other = (known.forecasts([3 * n[0]], [gpus]) for known in (moved, again))
    assert (one.seconds, one.low, one.high) == (other.seconds, other.low, other.high)
    broken = json.loads((tmp_path / "moved.json").read_text())
    broken["machine_factors"]["of_size"]["means"].pop()
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    with pytest.raises(InputError, match="of_size has a mean"):
        gc.load_model(tmp_path / "broken.json")


def test_draws_are_about_the_forecasts_and_parts_sum_to_them() -> None:
    model = md()
    moved = gc.what_if(model, kind="H100-SXM5", from_kind="T4")
    n, gpus = np.full(4, model.domain.n[1]), np.array([1.0, 2.0, 4.0, 8.0])
    forecasts = moved.forecasts(n, gpus)
    medians = np.median(moved.draws(n, gpus, 4000), axis=0)
    own = np.median(model.draws(n, gpus, 4000), axis=0) / model.forecasts(n, gpus).seconds
    assert medians / forecasts.seconds == pytest.approx(own, rel=0.1)
    parts = forecasts.t_gpu + forecasts.t_cpu + forecasts.t_com
    assert parts == pytest.approx(forecasts.seconds)


def test_a_kind_that_the_data_contradict_is_refused(fitted: Model) -> None:
    with pytest.raises(InputError, match="is of A100-SXM4-80GB already"):
        gc.what_if(fitted, kind="A100-SXM4-80GB", from_kind="A100-SXM4-80GB")
    named = replace(fitted, machine=replace(fitted.machine, name="NVIDIA H100 80GB HBM3"))
    with pytest.raises(InputError, match="was fitted on NVIDIA H100"):
        gc.what_if(named, kind="H200-SXM5", from_kind="T4")


def test_a_machine_that_is_called_by_its_gpus_tells_their_kind(fitted: Model) -> None:
    named = replace(fitted, machine=replace(fitted.machine, name=None, id="ours, A100-SXM4-40GB"))
    moved = gc.what_if(named, kind="H100-SXM5")
    stated = gc.what_if(fitted, kind="H100-SXM5", from_kind="A100-SXM4-40GB")
    assert moved.forecasts([8000.0], [2.0]).seconds == stated.forecasts([8000.0], [2.0]).seconds


def test_cells_of_the_kind_are_taken_from_a_table_of_several_kinds(fitted: Model) -> None:
    seconds = float(fitted.forecasts([64000.0], [1.0]).seconds[0])
    cells = [step(64000, 1, [seconds]), step(64000, 1, [0.6 * seconds], machine="h")]
    there = machine(name="h")
    there["gpus"][0]["name"] = "NVIDIA H100 80GB HBM3"
    both = dataset([machine(), there, *cells], name="both")
    alone = dataset([there, cells[1]], name="alone")
    told = [
        gc.what_if(fitted, kind="H100-SXM5", from_kind="A100-SXM4-40GB", cells=data)
        for data in (both, alone)
    ]
    one, other = (model.forecasts([8000.0], [2.0]).seconds for model in told)
    assert one == pytest.approx(other)


def test_cells_that_state_another_kind_are_refused(fitted: Model) -> None:
    seconds = float(fitted.forecasts([64000.0], [1.0]).seconds[0])
    there = machine(name="h")
    there["gpus"][0]["name"] = "NVIDIA H100 80GB HBM3"
    data = dataset([there, step(64000, 1, [0.6 * seconds], machine="h")], name="few")
    kind = {"kind": "H200-SXM5", "from_kind": "A100-SXM4-40GB"}
    with pytest.raises(InputError, match="few: --cells: its steps are of H100-SXM5, not of H200"):
        gc.what_if(fitted, cells=data, **kind)
    with pytest.raises(InputError, match="not of T4"):
        gc.what_if(fitted, further={"T4": data}, **kind)


def test_many_cells_are_better_fitted_alone(fitted: Model) -> None:
    n, gpus = np.repeat([8000, 64000, 128000], 2), np.tile([1, 2], 3)
    times = 0.5 * fitted.forecasts(n.astype(float), gpus.astype(float)).seconds
    steps = [step(int(a), int(b), [c]) for a, b, c in zip(n, gpus, times, strict=True)]
    kind = {"kind": "H200-SXM5", "from_kind": "A100-SXM4-40GB"}
    for count, is_said in ((5, False), (6, True)):
        data = dataset([machine(), *steps[:count]])
        moved = gc.what_if(fitted, cells=data, **kind)
        assert any("a fit to its own cells" in line.text for line in moved.remarks) == is_said


def test_a_cell_that_contradicts_the_others_is_named(fitted: Model) -> None:
    n, gpus = [8000.0, 64000.0, 128000.0], [1.0, 1.0, 2.0]
    times = 0.6 * fitted.forecasts(n, gpus).seconds
    for factor, expected in ((1, []), (5, ["n = 64000 on 1 GPU"])):
        times[1] *= factor
        steps = [step(int(a), int(b), [c]) for a, b, c in zip(n, gpus, times.tolist(), strict=True)]
        data = dataset([machine(), *steps])
        moved = gc.what_if(fitted, cells=data, kind="H200-SXM5", from_kind="A100-SXM4-40GB")
        named = [text for text in moved.warnings if "one of them may be wrong" in text]
        assert [text.partition(" took")[0] for text in named] == expected


def test_cells_that_contradict_one_another_tell_little(fitted: Model) -> None:
    n = [64000, 65000]
    times = fitted.forecasts([float(size) for size in n], [1.0, 1.0]).seconds
    width = {}
    for ratios in ((0.5, 0.5), (0.3, 2.0)):
        steps = [
            step(size, 1, [ratio * time])
            for size, ratio, time in zip(n, ratios, times.tolist(), strict=True)
        ]
        data = dataset([machine(), *steps])
        moved = gc.what_if(fitted, cells=data, kind="H200-SXM5", from_kind="A100-SXM4-80GB")
        forecast = moved.forecasts([64000.0], [1.0])
        width[ratios] = float(forecast.high[0] / forecast.low[0])
    assert width[0.3, 2.0] > 1.5 * width[0.5, 0.5]


def test_repetitions_that_contradict_one_another_are_refused(fitted: Model) -> None:
    seconds = float(fitted.forecasts([64000.0], [1.0]).seconds[0])
    steps = [step(64000, 1, [factor * seconds]) for factor in (0.5, 2)]
    with pytest.raises(InputError, match=r"repetitions of n = 64000 on 1 GPU took .* to .*leave"):
        gc.what_if(
            fitted,
            cells=dataset([machine(), *steps]),
            kind="H200-SXM5",
            from_kind="A100-SXM4-40GB",
        )


def test_the_ratio_applies_to_the_gpus_part_alone_where_timers_tell_it() -> None:
    model = md()
    assert model.scaling is not None
    cells = model.scaling.cells
    seconds = np.array(cells.seconds)
    parts = MeasuredParts(
        n=cells.n, gpus=cells.gpus, t_gpu=list(0.1 * seconds), t_cpu=list(0.2 * seconds),
        t_com=list(0.7 * seconds),
    )  # fmt: skip
    timed = replace(model, scaling=replace(model.scaling, parts=parts))
    moved = gc.what_if(timed, kind="L4", from_kind="H100-SXM5")
    ratio = kinds.time_ratio(kind_named("H100-SXM5"), kind_named("L4"))
    before, after = (one.forecasts(cells.n[:1], cells.gpus[:1]).seconds for one in (timed, moved))
    assert after[0] / before[0] == pytest.approx(0.1 * np.exp(ratio.mean) + 0.9, rel=1e-6)
    assert any(line.text.startswith("T_gpu on L4") for line in moved.remarks)


def test_what_a_smaller_memory_may_not_hold_is_said() -> None:
    model = md()
    most = model.most_per_gpu
    assert most is not None
    n = np.array([0.35 * most, 0.5 * most])
    for kind, memory, outside in (("V100-SXM2-16GB", 0.4, [False, True]), ("H100-SXM5", 1.0, [])):
        moved = gc.what_if(model, kind=kind, from_kind="A100-SXM4-40GB")
        assert moved.most_per_gpu == pytest.approx(memory * most)
        texts = caveats(moved, n, np.ones(2))
        assert any("no GPU of so little memory" in text for text in texts) == bool(outside)
        assert moved.overfills(n, np.ones(2)).tolist() == (outside or [False, False])


def test_totals_widen_with_what_gpus_do_not_share() -> None:
    model = md()
    moved = gc.what_if(model, kind="H100-SXM5", from_kind="A100-SXM4-80GB")
    fewest, most = model.domain.gpus
    forecasts = moved.forecasts([model.domain.n[1]] * 2, [float(fewest), float(most)])
    widths = forecasts.high / forecasts.low
    assert widths[1] > widths[0]


def test_a_model_file_keeps_the_kind(fitted: Model, tmp_path: Path) -> None:
    moved = gc.what_if(fitted, kind="H100-SXM5", from_kind="A100-SXM4-80GB")
    file = tmp_path / "h100.json"
    moved.save(file)
    read = gc.load_model(file)
    assert read.machine_factors.kind == "H100-SXM5"
    assert read.forecasts([8000.0], [2.0]).seconds == moved.forecasts([8000.0], [2.0]).seconds
