"""Where the package finds the programs and libraries that pip installed with it."""

import shutil
import sys
from pathlib import Path

import pytest

from gpucast import installed


def laid(prefix: Path, packages: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package below a prefix of its own, as the module under test sees it."""
    module = prefix / packages / "gpucast" / "installed.py"
    module.parent.mkdir(parents=True)
    shutil.copy(Path(installed.__file__), module)
    monkeypatch.setattr(installed, "__file__", str(module))
    return prefix


@pytest.fixture(params=["lib/python3.12/site-packages", "lib/python3.12/dist-packages", ""])
def prefix(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As with --user or a virtual environment, as Debian's Python has it, and with --target."""
    return laid(tmp_path / "prefix", request.param, monkeypatch)


def put(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o755)
    return file


def test_a_library_is_found_below_the_prefix_of_the_package(prefix: Path) -> None:
    library = put(prefix / "lib" / "gpucast-made-up" / "x.so")
    assert installed.place("lib/gpucast-made-up", "x.so") == library.parent


def test_a_program_is_found_below_the_prefix_of_the_package(prefix: Path) -> None:
    program = put(prefix / "bin" / "gpucast-made-up")
    assert installed.program("gpucast-made-up") == str(program)


def test_this_python_comes_before_the_prefix_of_the_package(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "this"))
    put(prefix / "lib" / "gpucast-made-up" / "x.so")
    here = put(tmp_path / "this" / "lib" / "gpucast-made-up" / "x.so")
    assert installed.place("lib/gpucast-made-up", "x.so") == here.parent


def test_what_is_nowhere_is_looked_for_below_this_python(prefix: Path) -> None:
    assert installed.place("lib/gpucast-made-up", "x.so") == Path(sys.prefix, "lib/gpucast-made-up")
    assert installed.program("gpucast-made-up") is None


def test_a_source_tree_is_no_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid(tmp_path, "clone/python", monkeypatch)
    assert tmp_path not in installed.prefixes()
