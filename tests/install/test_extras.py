"""Packages that pip installs only on request."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gpucast as gc
from gpucast.cli.app import EXTRAS
from made_data import whole

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def without(package: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """``gpucast ARGUMENTS`` where a package is not installed."""
    code = (
        "import sys\n"
        f"sys.modules[{package!r}] = None\n"
        "from gpucast.cli import main\n"
        f"sys.exit(main({list(map(str, arguments))!r}))"
    )
    source = str(Path(gc.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{source}:{':'.join(sys.path)}"},
    )


def test_every_extra_that_a_command_names_is_there_and_brings_the_package() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert any(name.removeprefix("python-").startswith(package) for name in extras[extra])


def test_all_extras_are_in_all() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    assert extras.pop("all") == [f"gpucast[{','.join(sorted(extras))}]"]


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("matplotlib", ("figures", "steps", "dscuda")),
        ("jinja2", ("report", "reconstructed-2015-native")),
        ("docx", ("proposal", "reconstructed-2015-native")),
    ],
)
def test_a_command_without_its_package_names_the_extra_in_one_line(
    package: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    run = without(package, *arguments, "-o", tmp_path / "out")
    assert run.stderr == (
        f"gpucast: error: this needs {package}: pip install 'gpucast[{EXTRAS[package]}]'\n"
    )
    assert run.returncode == 2
    assert not list(tmp_path.iterdir())


def test_serving_without_its_packages_names_the_extra_in_one_line() -> None:
    run = without("waitress", "serve")
    assert run.stderr == "gpucast: error: this needs waitress: pip install 'gpucast[serve]'\n"
    assert (run.returncode, run.stdout) == (2, "")


def test_steps_are_fitted_and_forecast_without_any_extra(tmp_path: Path) -> None:
    whole().dump(tmp_path / "mine.jsonl")
    for package in (*EXTRAS, "pyarrow"):
        run = without(package, "fit", tmp_path / "mine.jsonl", "-o", tmp_path / f"{package}.json")
        assert run.returncode == 0, run.stderr
        run = without(
            package, "predict", tmp_path / f"{package}.json", "-n", "1e4", "--gpus", "1-4"
        )
        assert run.returncode == 0, run.stderr
