"""The forecasters that take part, one file for each kind."""

from __future__ import annotations

from pathlib import Path

from lab.forecasters.asking import Rival

HERE = Path(__file__).parent
EXTRAP = HERE.parents[2] / ".venv-extrap" / "bin" / "python"
"""The interpreter that has Extra-P and scikit-learn, which gpucast's lacks (make extrap)."""


def extra_p(name: str, **options: object) -> Rival:
    """Extra-P with one choice of its options."""
    return Rival(name, HERE / "extra_p.py", options=options, python=EXTRAP)


EXPONENTS = {"no negative exponents": False, "negative exponents": True}
WAYS = tuple(
    extra_p(f"Extra-P, {layout}, {exponents}", layout=layout, negative=negative)
    for exponents, negative in EXPONENTS.items()
    for layout in ("n and gpus", "gpus", "n")
)
"""The ways to give Extra-P a table of medians."""
OF_SAMPLES = tuple(
    extra_p(f"{exponents}, {measure}", layout="n and gpus", negative=negative, measure=measure)
    for exponents, negative in EXPONENTS.items()
    for measure in ("median", "mean")
)
"""Extra-P with both parameters, and with the median or the mean of a point's samples."""

OWN = Rival("gpucast", HERE / "own.py")
RIVALS = (
    OWN,
    extra_p("Extra-P"),
    Rival("Amdahl", HERE / "laws.py", "amdahl"),
    Rival("USL", HERE / "laws.py", "universal"),
    Rival("a + b n/N", HERE / "laws.py", "plain"),
    Rival("a + b n/N + c (N-1)/N", HERE / "laws.py", "ring"),
    Rival("Gaussian process", HERE / "gaussian_process.py", python=EXTRAP),
    Rival("ideal scaling", HERE / "ideal.py"),
    *WAYS,
)
