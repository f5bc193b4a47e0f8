"""Warnings are ranked, short, and said once."""

from __future__ import annotations

import pytest

from gpucast.cli import remarks

LACK = (
    "lack of fit, p < 1e-16 (looks like a cost that grows as N^2): times differ from the form by "
    "3 % beyond noise; forecasts follow the times, parameters are those of the form"
)
ONE_COUNT = "steps of one GPU count only: how time changes with N rests on the model's form"
CUT_OFF = "runs (1).jsonl:8: the last line is cut off; it is left out"
MINOR = [
    "not tried: GPU term 'wave' needs the number of cores of a GPU",
    "t_0 is too small to matter: at most 9.2e-10 of any measured time",
    "left out transfers: 156 beside other copies",
]


def said(capsys: pytest.CaptureFixture[str], texts: list[str], *, explain: bool) -> list[str]:
    remarks.of_fit(texts, explain=explain)
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix("gpucast: warning: ") for line in lines]


def test_the_worst_two_are_said_in_short_and_how_many_more_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = [*MINOR, LACK, ONE_COUNT, LACK, "the fit did not converge"]
    assert said(capsys, texts, explain=False) == [
        "the fit did not converge",
        f"{ONE_COUNT} (and 4 more: --explain)",
    ]


def test_a_warning_is_short_without_how_it_is_known_and_what_follows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said(capsys, [LACK], explain=False) == [
        "lack of fit, p < 1e-16: times differ from the form by 3 % beyond noise"
    ]


def test_what_is_about_a_file_comes_first_and_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = said(capsys, [LACK, CUT_OFF], explain=False)
    assert first == CUT_OFF
    assert second.startswith("lack of fit")


def test_what_has_no_consequence_is_said_when_asked_for_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said(capsys, MINOR, explain=False) == []
    assert said(capsys, [*MINOR, LACK, *MINOR], explain=True) == [LACK, *MINOR]
