"""The formulas of docs/reference/model-terms.md, evaluated from the page, are those of the code."""

import math
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpucast import _core
from latex_formulas import Values, evaluate, formulas
from waiting import HANG

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "model-terms.md"
ALL = formulas(PAGE)
FORMULAS = {term: displayed[-1] for term, displayed in ALL.items()}

CORES, SMS, BLOCK, INTEGER = 2304.0, 12.0, 256.0, 4
PARAMETERS = {
    "t_gpu": 7.1e-12, "t_0": 9.3e-6, "t_lat": 1.1e-7, "t_blk": 2.7e-8, "p": 2.7,
    "t_pair": 8.3e-13, "t_root": 3.1e-10, "t_step": 6.3e-7, "r": 0.8, "n_c": 4.7e4,
    "t_cpu": 2.1e-8, "t_cpu0": 4.4e-6, "t_kernel": 5.7e-6, "t_queue": 9.1e-6, "s_next": 0.6,
    "B_host": 3.3e10,
    "t_own": 6.1e-10, "t_edge": 8.2e-6, "t_face": 1.9e-9,
    "L_h2d": 7.9e-6, "B_h2d": 1.1e10, "L_d2h": 8.8e-6, "B_d2h": 0.9e10,
    "L_peer": 1.3e-5, "B_peer": 2.9e10, "L_net": 2.2e-5, "B_net": 1.2e9,
}  # fmt: skip
CELLS = [
    (n, N) for n in (1.0, 216.0, 1000.0, 9216.0, 9217.0, 54321.0) for N in (1.0, 2.0, 3.0, 8.0)
]


def line(route: str) -> Callable[[float], float]:
    return lambda m: PARAMETERS[f"L_{route}"] + m / PARAMETERS[f"B_{route}"]


def seen(x: float) -> float:
    """W: mean of the staircase of 8.192 us over a normal x, by adding up its steps."""
    if x <= 0:
        return 0.0
    tick = 8.192e-6
    sigma = math.hypot(0.4e-6, 0.004 * x)
    # E[ceil(X / q)] = sum over i of P(X > i q), from far below to far above.
    first, last = math.floor((x - 12 * sigma) / tick), math.ceil((x + 12 * sigma) / tick)
    return tick * (
        first + sum(0.5 * math.erfc((i * tick - x) / sigma / 2**0.5) for i in range(first, last))
    )


def symbols(n: float, gpus: float, **more: float | Callable[[float], float]) -> Values:
    w = evaluate(ALL["occupancy"][0], {"n": n, "N": gpus, "b": BLOCK, "s": SMS})
    routes = {f"T_{route}": line(route) for route in ("h2d", "d2h", "peer", "net")}
    given = {"n": n, "N": gpus, "k": INTEGER, "c": CORES, "s": SMS, "b": BLOCK}
    return {**PARAMETERS, **given, "w": w, "W": seen, "t_lead": 2.5e-6, **routes, **more}


def core_times(gpu: str, cpu: str, com: str) -> NDArray[np.float64]:
    """(T_gpu, T_cpu, T_com) of the code, a row a cell."""
    model = _core.Model(gpu, cpu, com, cores=CORES, sms=SMS, block=BLOCK, integer=INTEGER)
    known = PARAMETERS | {"t_cpu_0": PARAMETERS["t_cpu0"]}
    values = np.array([known[name] for name, _, _ in model.parameters])
    n, gpus = (np.array(column) for column in zip(*CELLS, strict=True))
    none = np.empty((0, len(values)))
    return np.array(_core.forecast(model, values, none, [], n, gpus)[:3]).T


@pytest.mark.parametrize("term", list(_core.GPU_TERMS))
def test_gpu_terms_are_as_printed(term: str) -> None:
    expected = [evaluate(FORMULAS[term], symbols(n, N)) for n, N in CELLS]
    assert core_times(term, "linear", "star-serial")[:, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("term", list(_core.CPU_TERMS))
def test_cpu_terms_are_as_printed(term: str) -> None:
    expected = [evaluate(FORMULAS[term], symbols(n, N)) for n, N in CELLS]
    assert core_times("wave", term, "star-serial")[:, 1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("term", [name for name, term in _core.COM_TERMS.items() if term.linear])
def test_communication_terms_are_as_printed(term: str) -> None:
    times = core_times("wave", "linear", term)
    expected = [
        evaluate(FORMULAS[term], symbols(n, N, T_gpu=t_gpu))
        for (n, N), t_gpu in zip(CELLS, times[:, 0], strict=True)
    ]
    assert times[:, 2] == pytest.approx(expected, rel=1e-12)


def test_star_serial_is_the_same_in_both_ways_of_writing_it() -> None:
    first, second = ALL["star-serial"]
    for n, gpus in CELLS:
        assert evaluate(first, symbols(n, gpus)) == pytest.approx(
            evaluate(second, symbols(n, gpus)), rel=1e-12
        )


@pytest.mark.parametrize(
    "term", [name for name, term in _core.COM_TERMS.items() if term.sees_ticks]
)
def test_terms_that_see_ticks_are_as_printed(term: str) -> None:
    times = core_times("wave", "linear", term)
    expected = [
        evaluate(FORMULAS[term], symbols(n, N, T_gpu=t_gpu)) + t_gpu
        for (n, N), t_gpu in zip(CELLS, times[:, 0], strict=True)
    ]
    # Five harmonics of a sawtooth represent all of them.
    assert times[:, 2] + times[:, 0] == pytest.approx(expected, rel=0.01)


def test_allgather_queue_is_as_printed_on_several_gpus() -> None:
    times = core_times("wave", "linear", "allgather-queue")
    several = [i for i, (_, N) in enumerate(CELLS) if N > 1]
    expected = [
        evaluate(FORMULAS["allgather-queue"], symbols(*CELLS[i], T_gpu=times[i, 0]))
        for i in several
    ]
    assert times[several, 2] == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_star_serial_hide_is_as_printed() -> None:
    def h(x: float) -> float:
        return float(1e-6 * np.logaddexp(0, x / 1e-6))

    times = core_times("wave", "linear", "star-serial-hide")
    expected = [
        evaluate(FORMULAS["star-serial-hide"], symbols(n, N, T_gpu=t_gpu, h=h)) + t_gpu
        for (n, N), t_gpu in zip(CELLS, times[:, 0], strict=True)
    ]
    assert times[:, 2] + times[:, 0] == pytest.approx(expected, rel=1e-9)


def test_gflops_and_efficiency_are_as_printed() -> None:
    assert evaluate(FORMULAS["gflops"], {"n": 1000.0, "T": 2e-3}) == pytest.approx(
        _core.ALL_PAIRS.gflops(1000.0, 2e-3)
    )
    assert evaluate(FORMULAS["efficiency"], {"T_1": 3.0, "T": 1.0, "N": 4.0}) == pytest.approx(
        _core.efficiency(3.0, 1.0, 4.0)
    )


def row(term: _core.Term) -> str:
    cells = [
        f"`{term.name}`",
        f"{term.schedule}: {term.summary}" if term.schedule else term.summary,
        ", ".join(f"`{name}`" for name, _, _ in term.parameters),
        ", ".join([*term.needs, *filter(None, [term.integer]), *term.routes]),
        "yes" if term.linear else "no",
    ]
    return "| " + " | ".join(cells) + " |"


def test_the_table_of_the_page_is_the_catalogue() -> None:
    terms = [*_core.GPU_TERMS.values(), *_core.CPU_TERMS.values(), *_core.COM_TERMS.values()]
    table = "\n".join(row(term) for term in terms)
    # If this fails, the expected rows are those that the page should have.
    page = PAGE.read_text(encoding="utf-8")
    assert table in page, table
    assert {term.name for term in terms} <= FORMULAS.keys()


@pytest.mark.parametrize("formula", ["n +", "n ) 2", "\\sqrt{n}", "n^"])
def test_a_formula_that_is_not_understood_is_refused(formula: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        evaluate(formula, {"n": 2.0})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_the_program_of_the_cpp_page_gives_the_same_step_time(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "cpp" / "index.md").read_text(encoding="utf-8")
    example = re.findall(r"^```cpp\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    include, _, body = example.partition("\n")
    source = tmp_path / "step.cpp"
    source.write_text(
        f'#include <cstdio>\n{include}\nint main() {{\n{body}\nstd::printf("%.17g", seconds);\n}}\n'
    )
    headers = [f"-I{ROOT / part / 'include'}" for part in ("schema", "model")]
    subprocess.run(
        ["g++", "-std=c++20", "-Wall", "-Werror", *headers, source, "-o", tmp_path / "step"],
        check=True, timeout=HANG,
    )  # fmt: skip
    printed = subprocess.run(
        [tmp_path / "step"], check=True, timeout=HANG, capture_output=True, text=True
    )
    model = _core.Model("wave", "linear", "star-serial", cores=2304, integer=4)
    values = np.array([7e-12, 2e-8, 6e-6, 8e-6, 1.1e10, 9e-6, 0.9e10])
    times = _core.forecast(model, values, np.empty((0, 7)), [], np.array([1000.0]), np.array([2.0]))
    assert float(printed.stdout) == pytest.approx(float(sum(terms[0] for terms in times[:3])))
