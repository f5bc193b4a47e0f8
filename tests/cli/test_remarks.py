"""Warnings are ranked, short, and said once."""

import pytest

from gpucast.cli.output import tell_fit
from gpucast.util.remarks import Kind, Remark, Severity, remark

LACK = remark(
    Kind.LACK_OF_FIT,
    "lack of fit, p < 1e-16 (looks like a cost that grows as N^2): times differ from the form by "
    "3 % beyond noise; forecasts follow the times, parameters are those of the form",
    short="lack of fit, p < 1e-16: times differ from the form by 3 % beyond noise",
)
ONE_COUNT = remark(
    Kind.ONE_VALUE,
    "steps of one GPU count only: how time changes with N rests on the model's form",
)
CUT_OFF = remark(Kind.DATA, "runs (1).jsonl:8: the last line is cut off; it is left out")
NO_END = remark(Kind.NOT_CONVERGED, "the fit did not converge")
MINOR = [
    remark(Kind.LEFT_OUT, "left out transfers: 156 beside other copies", severity=Severity.MINOR),
    remark(Kind.TOO_SMALL, "t_0 is too small to matter: at most 9.2e-10 of any measured time"),
]
NOTE = "not tried: GPU term 'wave' needs the number of cores of a GPU"


def said(
    capsys: pytest.CaptureFixture[str], known: list[Remark], *notes: str, explain: bool
) -> list[str]:
    tell_fit(known, notes, explain=explain)
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix("gpucast: warning: ") for line in lines]


def test_the_worst_two_are_said_in_short_and_how_many_more_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = [*MINOR, LACK, ONE_COUNT, LACK, NO_END]
    assert said(capsys, known, NOTE, explain=False) == [
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
    assert said(capsys, [LACK, CUT_OFF], explain=False) == [str(CUT_OFF), LACK.short]


def test_what_has_no_consequence_is_said_when_asked_for_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said(capsys, MINOR, NOTE, explain=False) == []
    known = [*MINOR, LACK, *MINOR]
    assert said(capsys, known, NOTE, explain=True) == [str(LACK), *map(str, MINOR), NOTE]
