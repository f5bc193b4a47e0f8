"""The shapes in docs/reference/scaling-terms.md are those of the code, and the table is whole."""

import math
import re
from pathlib import Path

import pytest

from gpucast import _core

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scaling-terms.md"
ROW = re.compile(r"^\| `(\w+)` \| `(.+?)` \| .+ \| (\w+) \|$", re.MULTILINE)
ROWS = {term: (shape, part) for term, shape, part in ROW.findall(PAGE.read_text())}
PARTS = {"GPU": "gpu", "CPU": "cpu", "exchange": "com"}


def test_every_term_has_a_row_and_its_part() -> None:
    parts = {term: PARTS[part] for term, (_, part) in ROWS.items()}
    assert parts == {term: part for term, (_, part) in _core.SCALING_TERMS.items()}


@pytest.mark.parametrize("term", ROWS)
@pytest.mark.parametrize(("n", "gpus", "nodes"), [(64, 8, 2), (1e6, 1, 1), (12345.5, 24, 6)])
def test_a_shape_is_that_of_the_code(term: str, n: float, gpus: int, nodes: int) -> None:
    names = {
        "n": n, "N": gpus, "nodes": nodes, "f": lambda size: size, "log2": math.log2,
        "sqrt": math.sqrt, "max": max, "latency": 2e-5, "per_byte": 1e-11,
    }  # fmt: skip
    expected = float(eval(ROWS[term][0], {"__builtins__": {}}, names))
    assert _core.scaling_shape(term, n, gpus, nodes, 2e-5, 1e-11) == pytest.approx(
        expected, rel=1e-12
    )
