"""Steps of one kind of GPU compared with forecasts from traces of the other."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from gpucast.paths.traced.other_kind import KindForecast, Share
from lab.studies import traced_kinds

BUNDLED = Path(__file__).parents[2] / "data/measured/h100-h200-traces"
CELL = "gemm-fp64-n2048-gpus1"


def step_of(kind: str) -> float:
    with zipfile.ZipFile(BUNDLED / kind / f"{CELL}.zip") as archive:
        return float(json.loads(archive.read("run.json"))["seconds_untraced"])


def test_a_step_is_compared_with_that_of_the_other_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("h100", "h200"):
        (tmp_path / kind).mkdir()
        shutil.copy(BUNDLED / kind / f"{CELL}.zip", tmp_path / kind)
    folders = {"H100-SXM5": (tmp_path / "h100",), "H200-SXM5": (tmp_path / "h200",)}
    monkeypatch.setattr(traced_kinds, "FOLDERS", folders)
    h100, h200 = step_of("h100"), step_of("h200")
    lines = [line.strip("| ").split(" | ") for line in traced_kinds.judged()]
    assert [line[:3] for line in lines] == [
        [kind, group, "1"]
        for kind in ("H100-SXM5", "H200-SXM5")
        for group in ("all", traced_kinds.KERNELS_NAMED)
    ]
    assert [line[4] for line in lines] == [
        f"{abs(one / other - 1):.1%}" for one, other in ((h100, h200), (h200, h100)) for _ in "ab"
    ]
    # Products are limited by matrix units, of which both kinds have as many.
    assert all(float(line[3].rstrip("%")) < 5 and line[6] == "100%" for line in lines)


@pytest.mark.parametrize(
    ("named", "others", "copies", "group"),
    [
        (0.5, 0.4, 0.0, traced_kinds.KERNELS_NAMED),
        (0.3, 0.6, 0.0, traced_kinds.OTHER_KERNELS),
        (0.3, 0.3, 0.4, traced_kinds.HOST),
        (0.1, 0.1, 0.0, traced_kinds.HOST),
    ],
)
def test_a_step_belongs_to_what_takes_most_of_it(
    named: float, others: float, copies: float, group: str
) -> None:
    shares = tuple(
        Share(words, seconds, seconds, seconds, seconds)
        for words, seconds in (
            ("limited by memory", named),
            ("others, as all programs", others),
            ("copies to and from the host", copies),
        )
    )
    answer = KindForecast("a", "b", 1.0, 1.0, 1.0, 0.9, 1.1, shares, 5, ())
    assert traced_kinds._group(answer) == group
