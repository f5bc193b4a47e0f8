"""Files of figures: which there will be, drawn in parallel, written all or not at all."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpucast.errors import InputError
from gpucast.util.files import check_output, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".pdf", ".svg")
Draw = Callable[[], "Figure"]
_FEWEST_FOR_PROCESSES = 3
_OBJECTS_BETWEEN_COLLECTIONS = 200_000

_DRAWS: dict[str, Draw] = {}


def endings_of(formats: str) -> list[str]:
    """``png,pdf`` as a list.

    Raises:
        InputError: a format that is not known.
    """
    found = [each.strip().lower() for each in formats.split(",")]
    for each in found:
        if f".{each}" not in ENDINGS:
            known = ", ".join(ending[1:] for ending in ENDINGS)
            raise InputError(f"{each!r} is no format; it is one of {known}", field="--formats")
    return list(dict.fromkeys(found))


def is_file(output: Path) -> bool:
    """Whether an output names one figure's file, not a folder."""
    return output.suffix.lower() in ENDINGS


def targets(
    names: Sequence[str], output: Path, formats: str, *, force: bool, beside: Sequence[str] = ()
) -> dict[str, list[Path]]:
    """The files of each figure, refused before any is drawn where one could not be written.

    Args:
        output: a file (of one figure) or a folder.
        beside: names of other files that go into the folder.

    Raises:
        InputError: several figures for one file, an unknown format, a file that is there.
    """
    if is_file(output):
        if len(names) != 1:
            raise InputError("a file holds one figure; give a folder", file=output)
        check_output(output, force=force)
        return {names[0]: [output]}
    endings = endings_of(formats)
    _check_folder(output)
    found = {name: [output / f"{name}.{ending}" for ending in endings] for name in names}
    if output.exists():
        files = [path for paths in found.values() for path in paths]
        for path in (*files, *(output / name for name in beside)):
            check_output(path, force=force)
    return found


def _check_folder(output: Path) -> None:
    """Refuse a folder that is none, or could not be made."""
    nearest = next(each for each in (output, *output.absolute().parents) if each.exists())
    if not nearest.is_dir():
        raise InputError("is no folder", file=nearest)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError("the folder is not writable", file=nearest)


def drawn(draws: Mapping[str, Draw], files: Mapping[str, Sequence[Path]]) -> dict[Path, bytes]:
    """The content of every file; several figures are drawn in several processes."""
    _DRAWS.clear()
    _DRAWS.update(draws)
    tasks = [(name, [path.suffix[1:].lower() for path in files[name]]) for name in draws]
    with processes(len(tasks), _FEWEST_FOR_PROCESSES) as spread:
        contents = list(spread(_render, tasks))
    return {
        path: content
        for (name, _), own in zip(tasks, contents, strict=True)
        for path, content in zip(files[name], own, strict=True)
    }


def write(contents: Mapping[Path, bytes], *, force: bool) -> None:
    """Write all; where one cannot be written, those that are new go again."""
    new: list[Path] = []
    made = _folders(contents)
    try:
        for path, content in contents.items():
            there = path.exists()
            write_bytes(path, content, force=force)
            if not there:
                new.append(path)
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        for folder in reversed(made):
            folder.rmdir()
        raise


def _folders(contents: Mapping[Path, bytes]) -> list[Path]:
    """Make the folders that are missing; those made, outermost first."""
    made: list[Path] = []
    for folder in dict.fromkeys(path.parent for path in contents):
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        made += reversed(missing)
    return made


def _render(task: tuple[str, list[str]]) -> list[bytes]:
    from gpucast.plots.style import render

    name, kinds = task
    figure = _DRAWS[name]()
    return [render(figure, kind) for kind in kinds]


@contextmanager
def processes(tasks: int, fewest: int = 2) -> Iterator[Callable[..., Any]]:
    """``map`` over as many forked processes as there are cores, where there is work for them."""
    cores = min(tasks, len(os.sched_getaffinity(0)))
    # Forked processes have the data already; handing it over would cost more than it saves.
    forks = "fork" in multiprocessing.get_all_start_methods()
    if cores < 2 or tasks < fewest or not forks:
        yield map
        return
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf
    import matplotlib.backends.backend_svg  # noqa: F401, so that every process has them

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(cores, context, initializer=_collect_seldom) as pool:
        yield pool.map


def _collect_seldom() -> None:
    """Look for garbage seldom, and only in what this process makes: there is next to none, and
    the search through all that was read and drawn takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
