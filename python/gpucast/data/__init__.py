"""Records, datasets of them, and other programs' formats."""

from __future__ import annotations

from pathlib import Path


def bundled_files() -> dict[str, Path]:
    """Return files of the bundled datasets by name, sorted by name."""
    # As in the source tree, and as installed (cmake/GpucastInstall.cmake).
    return _files("*/*.jsonl", "*/*.jsonl.gz")


def reconstructed_files() -> dict[str, Path]:
    """Return files of the bundled reconstructions by name, sorted by name."""
    return _files("reconstructed/*.json")


def _files(*patterns: str) -> dict[str, Path]:
    globs = [folder.glob(pattern) for folder in data_folders() for pattern in patterns]
    files = [file for glob in globs for file in glob]
    # If several files have the same name, the first is used.
    return dict(sorted({file.name.partition(".json")[0]: file for file in reversed(files)}.items()))


def data_folders() -> list[Path]:
    """Return the folders of bundled data: in the installed package, or ``data`` in the sources."""
    folders = [Path(__file__).parents[1] / "bundled", Path(__file__).parents[3] / "data"]
    return [folder for folder in folders if folder.is_dir()]
