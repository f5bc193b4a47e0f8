"""GPU counts beside numbers of nodes: whether they may be those of all nodes together."""

from __future__ import annotations

from gpucast.data.formats import Options
from gpucast.data.formats.tables.columns import shown
from gpucast.data.formats.tables.rows import Row
from gpucast.errors import InputError


def check_stated(row: Row, options: Options) -> None:
    """Raise InputError where a row has other GPU counts than ``--gpus-per-node`` states."""
    stated = options.gpus_per_node
    role = next((role for role in ("gpus", "gpus_per_node") if role in row.columns), None)
    if stated is None or role is None:
        return
    count, name = row.integer(role), row.columns[role].name
    if role == "gpus_per_node":
        told, fits = f"{name!r} says {count}", count == stated
    elif row.has("nodes"):
        nodes = row.integer("nodes")
        told, fits = f"{name!r} says {_on(count, nodes)}", count == nodes * stated
    else:
        told, fits = f"{name!r} says {count} GPUs", count <= stated or count % stated == 0
    if not fits:
        raise InputError(
            f"{stated} contradicts the table: {told}; leave it out",
            file=row.file,
            line=row.line,
            field="--gpus-per-node",
        )


def check_all(counted: dict[tuple[int, int], Row], options: Options) -> None:
    """Raise InputError where GPU counts seem to be those of each node, and nobody said otherwise.

    Args:
        counted: a row of each pair of nodes and GPUs.
        options: what the user named.
    """
    if "gpus" in options.columns:
        return
    fewer = min((pair for pair in counted if pair[1] < pair[0]), default=None)
    alike = len({gpus for _, gpus in counted}) == 1 < len(counted)
    if fewer is None and not alike:
        return
    nodes, gpus = fewer or max(counted)
    row = counted[nodes, gpus]
    name = shown(row.columns["gpus"].name)
    raise row.error(
        "gpus",
        f"{_on(gpus, nodes)} may be those of each node; import with --columns "
        f"gpus_per_node={name} if they are, with --columns gpus={name} if of all nodes together",
    )


def _on(gpus: int, nodes: int) -> str:
    return f"{gpus} GPU{'s' * (gpus > 1)} on {nodes} node{'s' * (nodes > 1)}"
