"""There is one version, and a release sets it where it is repeated."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = ("CMakeLists.txt", "CITATION.cff", "CHANGELOG.md", "scripts/release.py")


def stated(root: Path) -> str:
    match = re.search(r"project\(gpucast VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())
    return match.group(1)


def git(root: Path, *words: str) -> str:
    named = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    return subprocess.run(
        ["git", *named, "-C", root, *words], text=True, capture_output=True, check=True
    ).stdout


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of the files that a release changes, with a change to release."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@b")
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changes = tmp_path / "CHANGELOG.md"
    heading = "## [Unreleased]\n"
    entry = f"{heading}\n### Added\n\n- A change.\n"
    changes.write_text(changes.read_text(encoding="utf-8").replace(heading, entry, 1))
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def release(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / "scripts" / "release.py", *words],
        text=True, capture_output=True, check=False,
    )  # fmt: skip


def test_the_package_takes_its_version_from_the_build_and_the_citation_says_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    source = project["tool"]["scikit-build"]["metadata"]["version"]
    match = re.search(source["regex"], (ROOT / source["input"]).read_text(encoding="utf-8"))
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert match.group("value") == stated(ROOT) == cited["version"]


def test_a_release_sets_versions_dates_changes_commits_and_tags(copy: Path) -> None:
    assert release(copy, "7.8.9").returncode == 0
    assert stated(copy) == "7.8.9"
    cited = yaml.safe_load((copy / "CITATION.cff").read_text())
    assert cited["version"] == "7.8.9"
    changes = (copy / "CHANGELOG.md").read_text()
    assert f"## [Unreleased]\n\n## [7.8.9] - {cited['date-released']}\n" in changes
    assert git(copy, "tag", "--list").split() == ["v7.8.9"]
    assert git(copy, "status", "--porcelain") == ""
    again = release(copy, "7.9.0")
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    assert "nothing stands under" in again.stderr


@pytest.mark.parametrize(
    ("version", "spoil", "said"),
    [
        ("1.2", None, "no version"),
        ("1.2.3", "branch", "not main"),
        ("1.2.3", "file", "uncommitted"),
        ("1.2.3", "tag", "there is a tag"),
    ],
)
def test_a_release_that_cannot_be_made_changes_nothing(
    copy: Path, version: str, spoil: str | None, said: str
) -> None:
    if spoil == "branch":
        git(copy, "switch", "--quiet", "--create", "other")
    elif spoil == "file":
        (copy / "new").write_text("")
    elif spoil == "tag":
        git(copy, "tag", "v1.2.3")
    before = git(copy, "rev-parse", "HEAD"), stated(copy)
    done = release(copy, version)
    assert done.returncode == 1
    assert said in done.stderr
    assert (git(copy, "rev-parse", "HEAD"), stated(copy)) == before


def test_a_check_changes_nothing(copy: Path) -> None:
    before = stated(copy)
    assert release(copy, "7.8.9", "--check").returncode == 0
    assert stated(copy) == before
    assert git(copy, "tag", "--list") == ""
