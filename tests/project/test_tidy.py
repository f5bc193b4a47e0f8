"""clang-tidy sees all of the project's C++."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def parts_linted() -> set[str]:
    spec = importlib.util.spec_from_file_location("tidy", ROOT / "scripts" / "tidy.py")
    tidy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tidy)
    return set(tidy.PARTS)


def parts_built() -> set[str]:
    """Top-level folders that the build adds."""
    added = re.findall(r"add_subdirectory\((\w+)", (ROOT / "CMakeLists.txt").read_text())
    return set(added)


def test_every_part_of_the_build_is_linted() -> None:
    assert len(parts_built()) > 10
    assert parts_built() - parts_linted() == set()


def test_headers_are_named_for_editors_as_for_the_script() -> None:
    named = re.search(r"HeaderFilterRegex: '/\(([^)]*)\)", (ROOT / ".clang-tidy").read_text())
    assert set(named[1].split("|")) == parts_linted()
