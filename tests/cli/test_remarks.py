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


ENOUGH = [*MINOR, LACK, ONE_COUNT, LACK, NO_END]


@pytest.mark.parametrize(
    ("known", "notes", "explain", "said"),
    [
        pytest.param(
            ENOUGH, (NOTE,), False,
            ["the fit did not converge", f"{ONE_COUNT} (and 4 more: --explain)"],
            id="the worst two, and how many more there are",
        ),
        pytest.param([LACK], (), False, [LACK.short], id="without how it is known"),
        pytest.param([LACK, CUT_OFF], (), False, [str(CUT_OFF), LACK.short], id="a file's first"),
        pytest.param(MINOR, (NOTE,), False, [], id="nothing of no consequence"),
        pytest.param(
            [*MINOR, LACK, *MINOR], (NOTE,), True, [str(LACK), *map(str, MINOR), NOTE],
            id="all once when asked for",
        ),
    ],
)  # fmt: skip
def test_remarks_are_told(
    capsys: pytest.CaptureFixture[str], known: list[Remark], notes: tuple[str, ...],
    explain: bool, said: list[str],
) -> None:  # fmt: skip
    tell_fit(known, notes, explain=explain)
    lines = capsys.readouterr().err.splitlines()
    assert [line.removeprefix("gpucast: warning: ") for line in lines] == said
