"""The benchmarks of transfers judge rightly: made records with known answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import transfer_intervals
import transfers_held_out
from gpucast.data import jsonl
from gpucast.transfers.series import series_of
from made_data import dataset, launch, machine, transfer
from transfer_samples import SIZES, records, straight, two_kernels


def write(path: Path, made: list[dict[str, Any]]) -> str:
    path.write_text(jsonl.to_text(dataset([machine(), *made])._all()))
    return str(path)


def test_a_straight_line_is_forecast_to_its_noise() -> None:
    (series,) = series_of(dataset([machine(), *records(straight)]))
    found = transfers_held_out.study(series, 4)
    assert found.odd is not None
    assert found.odd.model.median() < 0.005
    assert found.random.model.quantile(0.95) < 0.02
    assert found.small().naive > 0.5  # bytes/B knows no latency
    assert found.reached()
    assert found.row()[-1] == ""


def test_times_that_no_curve_follows_are_missed() -> None:
    def erratic(size: int) -> float:
        return straight(size) * (1.6 if (size.bit_length() * 7) % 5 < 2 else 1)

    (series,) = series_of(dataset([machine(), *records(erratic)]))
    found = transfers_held_out.study(series, 4)
    assert found.random.model.quantile(0.95) > 0.15
    assert not found.reached()


def test_unaligned_copies_are_not_asked_of_powers_of_two() -> None:
    ends = {"memory": "unknown", "from": "gpu0", "to": "gpu0"}
    (series,) = series_of(dataset([machine(), *records(two_kernels, "local", **ends)]))
    found = transfers_held_out.study(series, 4)
    assert found.odd is None
    assert found.random.model.median() < 0.02


def test_left_out_sizes_do_not_reach_the_fit() -> None:
    # One size is ten times too slow: only its own forecast may be wrong.
    made = records(lambda size: straight(size) * (10 if size == 3071 else 1))
    (series,) = series_of(dataset([machine(), *made]))
    errors = transfers_held_out.held_out(series, [3071, 6143])
    assert errors.model[0] == pytest.approx(0.9, abs=0.01)
    assert errors.model[1] < 0.02
    for left_out in transfers_held_out.random_splits(SIZES, 5):
        assert len(left_out) == len(SIZES) // 5
        assert min(SIZES) not in left_out
        assert max(SIZES) not in left_out


def test_held_out_errors_are_printed_with_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "d.jsonl", records(straight))
    assert transfers_held_out.main([file, "--splits", "2"]) == 0
    assert "1 of 1 ways within" in capsys.readouterr().out
    few = write(tmp_path / "few.jsonl", records(straight, sizes=SIZES[:8]))
    assert transfers_held_out.main([few]) == 2
    assert transfers_held_out.main([str(tmp_path / "none")]) == 2


def runs(
    count: int, seconds: Callable[[np.random.Generator], np.ndarray[Any, Any]]
) -> list[list[dict[str, Any]]]:
    result = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        sizes = [2**power for power in range(6, 30)]
        made = [transfer("h2d", size, size / 5e10 * seconds(rng), method="call") for size in sizes]
        made += [launch(1, 3e-6 * seconds(rng), arguments=n) for n in range(8)]
        result.append(made)
    return result


def gathered(made: list[list[dict[str, Any]]]) -> pd.DataFrame:
    found = [transfer_intervals.cells(dataset([machine(), *each])) for each in made]
    return transfer_intervals.gathered(found)


def coverages(made: list[list[dict[str, Any]]]) -> pd.DataFrame:
    return transfer_intervals.coverages(gathered(made))


def test_runs_that_differ_by_noise_alone_are_covered() -> None:
    made = runs(24, lambda rng: np.exp(0.05 * rng.standard_normal(12)))
    found = coverages(made)
    assert set(found.index) == {"h2d pinned call", "launch submit"}
    assert found.loc["h2d pinned call"].intervals == 24 * 24
    assert not any(
        transfer_intervals.verdict(each.covered, each.intervals) == "MISSED"
        for each in found.itertuples()
    )
    assert 0.01 < found.loc["h2d pinned call"].width < 0.06


def test_runs_that_differ_by_more_than_their_noise_are_not() -> None:
    def shifted(rng: np.random.Generator) -> np.ndarray[Any, Any]:
        return np.exp(0.05 * rng.standard_normal() + 0.002 * rng.standard_normal(12))

    found = coverages(runs(24, shifted)).loc["h2d pinned call"]
    assert found.covered / found.intervals < 0.3
    assert transfer_intervals.verdict(int(found.covered), int(found.intervals)) == "MISSED"


def test_coverage_is_judged_by_what_chance_allows() -> None:
    verdict = transfer_intervals.verdict
    assert verdict(95, 100) == ""
    assert verdict(104, 105) == "too few to tell"  # at 99 % as probable as not
    assert verdict(8, 9) == "too few to tell"
    assert verdict(8000, 9000) == "MISSED"
    assert verdict(2000, 2000) == "MISSED"


def test_what_runs_say_of_their_differences_widens_intervals() -> None:
    def shifted(rng: np.random.Generator) -> np.ndarray[Any, Any]:
        return np.exp(0.05 * rng.standard_normal() + 0.002 * rng.standard_normal(12))

    known = {"sd": 0.05, "runs": 11}
    made = [[{**each, "run_to_run": known} for each in run] for run in runs(24, shifted)]
    found = coverages(made).loc["h2d pinned call"]
    assert found.covered / found.intervals >= 0.9
    # Student's factor for ten degrees of freedom.
    assert found.width == pytest.approx(2.228 * 0.05, rel=0.01)


def test_the_largest_deviation_at_512_mib_is_found() -> None:
    size = 512 * 2**20
    reverse = [{"from": "gpu0", "to": "host"}]
    made = [
        [
            transfer("h2d", size, [1e-2 * each] * 6),
            transfer("h2d", size, [1.1e-2 * each] * 6, concurrent=reverse),
        ]
        for each in (1.0, 1.0, 1.02, 0.999)
    ]
    alone, both = transfer_intervals.reproduced(gathered(made)).itertuples()
    assert alone.deviation == pytest.approx(0.02)
    assert alone.deviation > alone.target
    assert both.deviation <= both.target


def test_runs_are_files_and_a_single_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = runs(20, lambda rng: np.exp(0.005 * rng.standard_normal(12)))
    files = [write(tmp_path / f"{i}.jsonl", each) for i, each in enumerate(made)]
    assert transfer_intervals.main(files) == 0
    assert "20 runs" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        transfer_intervals.main(files[:1])
    other = write(tmp_path / "other.jsonl", [transfer("d2h", 64, [1e-5] * 6)])
    assert transfer_intervals.main([files[0], other]) == 2
