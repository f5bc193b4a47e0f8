"""Where programs find the CUDA runtime, and their message if they do not."""

import sys
from pathlib import Path

import pytest

from gpucast.measure import programs

LOADER = "error while loading shared libraries: libcudart.so.13: cannot open shared object file"


def ended(folder: Path, status: int, said: str) -> tuple[int, str]:
    """A program that writes to stderr and ends."""
    file = folder / programs.MICROBENCH
    file.write_text(f"import sys\nprint({said!r}, file=sys.stderr)\nsys.exit({status})\n")
    with programs.Program([sys.executable, str(file)], None) as program:
        return program.finish()


def test_without_the_runtime_the_extra_that_brings_it_is_named(tmp_path: Path) -> None:
    status, message = ended(tmp_path, 127, f"/x/gpucast-microbench: {LOADER}")
    assert status == 127
    assert message == (
        "gpucast-microbench finds no CUDA runtime: pip install 'gpucast[measure]', or a CUDA 13 "
        "toolkit"
    )


@pytest.mark.parametrize(("status", "said"), [(127, "no such thing"), (1, "libcudart is there")])
def test_other_ends_are_told_in_the_programs_own_words(
    status: int, said: str, tmp_path: Path
) -> None:
    assert ended(tmp_path, status, said) == (status, said)
