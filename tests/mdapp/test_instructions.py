"""How many instructions a pair takes in the tuned kernel, counted in its machine code."""

import sys
from pathlib import Path

import pytest

import sass

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).with_name("gpucast-mdapp")


@pytest.fixture(scope="module")
def loops() -> dict[tuple[str, bool, int], sass.Loop]:
    try:
        tuned = sass.tuned_loops(PROGRAM)
    except sass.SassError as error:
        if "no machine code" not in str(error):
            raise
        pytest.skip("built without a CUDA compiler")
    return {(loop.boundary, loop.with_energies, loop.i_per_thread): loop for loop in tuned}


@pytest.mark.parametrize(
    ("boundary", "with_energies", "i_per_thread", "most", "special"),
    [("open", False, 4, 20, 2), ("open", True, 2, 25, 2), ("minimum-image", False, 4, 29, 2),
     ("dsf", False, 4, 50, 4)],
)  # fmt: skip
def test_a_pair_takes_few_instructions(
    loops: dict[tuple[str, bool, int], sass.Loop],
    boundary: str,
    with_energies: bool,
    i_per_thread: int,
    most: float,
    special: float,
) -> None:
    loop = loops[boundary, with_energies, i_per_thread]
    # rsqrt and exp2; dsf also has exp(-x^2) and a reciprocal.
    assert loop.special_a_pair == special
    # The difference, its square, the powers of 1/r, and three sums take 15 alone.
    assert 15 < loop.instructions_a_pair <= most


def test_every_form_of_the_kernel_is_found(
    loops: dict[tuple[str, bool, int], sass.Loop],
) -> None:
    assert set(loops) == {
        (boundary, with_energies, i)
        for boundary in sass.BOUNDARIES
        for with_energies, most in ((False, 4), (True, 2))
        for i in (1, 2, 4)
        if i <= most
    }
    for loop in loops.values():
        assert loop.opcodes["FFMA"] >= 8 * loop.pairs


def test_no_local_memory_is_used_in_the_loop(
    loops: dict[tuple[str, bool, int], sass.Loop],
) -> None:
    for loop in loops.values():
        assert loop.opcodes["LDL"] == loop.opcodes["STL"] == 0


def test_a_program_without_machine_code_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "nothing").write_text("not a program")
    with pytest.raises(sass.SassError):
        sass.tuned_loops(tmp_path / "nothing")
