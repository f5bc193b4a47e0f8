"""Files of figures: their names are checked first, they are drawn in parallel, and all or none are
written."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpucast.errors import InputError
from gpucast.util.files import check_output
from gpucast.util.processes import spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".pdf", ".svg")
Draw = Callable[[], "Figure"]
_FEWEST_FOR_PROCESSES = 3


def endings_of(formats: str) -> list[str]:
    """Return ``png,pdf`` as a list.

    Raises:
        InputError: a format is not known.
    """
    asked = [word.strip().lower() for word in formats.split(",")]
    for word in asked:
        if f".{word}" not in ENDINGS:
            known = ", ".join(ending[1:] for ending in ENDINGS)
            raise InputError(f"{word!r} is no format; it is one of {known}", field="--formats")
    return list(dict.fromkeys(asked))


def is_file(output: Path) -> bool:
    """Return whether an output names the file of one figure, not a folder."""
    return output.suffix.lower() in ENDINGS


def check_figure(output: Path, *, force: bool) -> None:
    """Refuse a file name that cannot hold a figure.

    Raises:
        InputError: the ending is not known, or the file exists.
    """
    if not is_file(output):
        raise InputError(f"a figure's file ends in {', '.join(ENDINGS)}", file=output)
    check_output(output, force=force)


def targets(
    names: Sequence[str], output: Path, formats: str, *, force: bool, beside: Sequence[str] = ()
) -> dict[str, list[Path]]:
    """Return the files of each figure; they are refused before drawing if one could not be written.

    Args:
        output: a file (for one figure) or a folder.
        beside: names of other files that are written to the folder.

    Raises:
        InputError: several figures for one file, an unknown format, or an existing file.
    """
    if is_file(output):
        if len(names) != 1:
            raise InputError("a file holds one figure; give a folder", file=output)
        check_output(output, force=force)
        return {names[0]: [output]}
    endings = endings_of(formats)
    check_folder(output)
    files = {name: [output / f"{name}.{ending}" for ending in endings] for name in names}
    if output.exists():
        for path in (*itertools.chain(*files.values()), *(output / name for name in beside)):
            check_output(path, force=force)
    return files


def check_folder(output: Path) -> None:
    """Refuse a path that is not a folder, or cannot be created."""
    nearest = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise InputError("is no folder", file=nearest)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError("the folder is not writable", file=nearest)


def drawn(draws: Mapping[str, Draw], files: Mapping[str, Sequence[Path]]) -> dict[Path, bytes]:
    """Return the content of every file; several figures are drawn in several processes."""
    tasks = [partial(_rendered, draw, files[name]) for name, draw in draws.items()]
    contents = spread(tasks, 1 if len(tasks) < _FEWEST_FOR_PROCESSES else None)
    return {
        path: content
        for name, own in zip(draws, contents, strict=True)
        for path, content in zip(files[name], own, strict=True)
    }


def _rendered(draw: Draw, paths: Sequence[Path]) -> list[bytes]:
    from gpucast.show.plots.style import render

    figure = draw()
    return [render(figure, path.suffix[1:].lower()) for path in paths]
