"""Files of the bundled datasets and reconstructions, by name."""

from __future__ import annotations

from pathlib import Path


def bundled_files() -> dict[str, Path]:
    """Files of the bundled datasets by name, sorted by name."""
    files: dict[str, Path] = {}
    for folder in data_folders():
        # As in the source tree, and as installed (cmake/GpucastInstall.cmake).
        for file in (*folder.glob("*/*.jsonl"), *folder.glob("*/*.jsonl.gz")):
            files.setdefault(file.name.partition(".jsonl")[0], file)
    return dict(sorted(files.items()))


def reconstructed_files() -> dict[str, Path]:
    """Files of the bundled reconstructions by name, sorted by name."""
    files: dict[str, Path] = {}
    for folder in data_folders():
        for file in folder.glob("reconstructed/*.json"):
            files.setdefault(file.stem, file)
    return dict(sorted(files.items()))


def data_folders() -> list[Path]:
    """Where bundled data lie: in the installed package, or beside ``python/`` in a source tree."""
    folders = [Path(__file__).parents[1] / "bundled", Path(__file__).parents[3] / "data"]
    return [folder for folder in folders if folder.is_dir()]
