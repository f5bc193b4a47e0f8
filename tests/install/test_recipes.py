"""Recipes for other installers agree with pyproject.toml, and there is one version number."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = subprocess.run(
    [ROOT / "scripts" / "version.sh"], capture_output=True, text=True, check=True
).stdout.strip()
CONDA_NAMES = {"matplotlib-base": "matplotlib"}


def least(requirements: list[str]) -> dict[str, str]:
    """The least version of each package, of lines such as ``rich>=13.7``."""
    matches = (re.fullmatch(r"([a-z0-9-]+) ?>=([0-9.]+).*", line) for line in requirements)
    return {match[1]: match[2] for match in matches if match}


@pytest.fixture
def needed() -> dict[str, str]:
    """The packages needed by forecasts, figures, proposals, reports and the page in the browser."""
    extras = PROJECT["project"]["optional-dependencies"]
    names = ("figures", "proposal", "report", "serve")
    return least(
        [*PROJECT["project"]["dependencies"], *(e for name in names for e in extras[name])]
    )


def test_the_package_has_the_version_of_cmakelists() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert "version" not in PROJECT["project"]
    pattern = PROJECT["tool"]["scikit-build"]["metadata"]["version"]["regex"]
    match = re.search(pattern, (ROOT / "CMakeLists.txt").read_text())
    assert match
    assert match["value"] == VERSION


def test_the_conda_recipe_needs_what_the_package_needs(needed: dict[str, str]) -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    stated = least(recipe["requirements"]["run"])
    assert stated.pop("python") == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert {CONDA_NAMES.get(name, name): version for name, version in stated.items()} == needed
    assert set(least(recipe["requirements"]["host"])) == set(
        least(PROJECT["build-system"]["requires"])
    )


def test_the_spack_recipe_needs_what_the_package_needs(needed: dict[str, str]) -> None:
    source = (ROOT / "packaging" / "spack" / "packages" / "gpucast" / "package.py").read_text()
    specs = [
        str(ast.literal_eval(call.args[0]))
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "depends_on"
    ]
    stated = dict(re.findall(r"^py-([a-z0-9-]+)@([0-9.]+):$", "\n".join(specs), re.MULTILINE))
    for name, version in least(PROJECT["build-system"]["requires"]).items():
        assert stated.pop(name) == version
    assert stated == needed


def test_the_container_installs_the_wheel_that_the_script_builds() -> None:
    containerfile = (ROOT / "packaging" / "container" / "Containerfile").read_text()
    assert "dist/gpucast-*-cp312-abi3-manylinux*_x86_64.whl" in containerfile
    assert "wheel.py-api=cp312" in (ROOT / "scripts" / "wheels.sh").read_text()


@pytest.mark.parametrize("recipe", ["conda/recipe.yaml", "spack/packages/gpucast/package.py"])
def test_the_recipes_set_options_that_there_are(recipe: str) -> None:
    named = set(
        re.findall(r"cmake\.define\.(GPUCAST_\w+)", (ROOT / "packaging" / recipe).read_text())
    )
    stated = "\n".join(path.read_text() for path in ROOT.glob("**/CMakeLists.txt") if path.exists())
    assert named
    assert {name for name in named if not re.search(rf"\(\s*{name}\b", stated)} == set()
