"""What is said of a boundary between nodes that times make suspect and nobody stated."""

from __future__ import annotations

from gpucast.util.units import number


def question(gpus: int, slower: int, n: float) -> str:
    """Asked once, where a model is fitted."""
    return (
        f"n = {number(n)} takes longer on {slower} GPUs than on {gpus}, and is shorter from each "
        f"other count to the next: another node? Forecasts hold both a node of {gpus} GPUs and "
        "exchange that grows with N; a column nodes (or GPUs per node) settles it"
    )


def doubt(gpus: int) -> str:
    """Said beside forecasts of more GPUs than that."""
    return (
        f"beyond {gpus} GPUs steps took longer: forecasts hold both another node from there and "
        "exchange that grows; state the nodes"
    )
