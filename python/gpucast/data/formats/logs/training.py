"""What training logs have in common: how the job was launched."""

from __future__ import annotations

VALUE = r"""["']? *[:=]+ *["']?"""
"""Text between a name and its value in JSON, Python dicts and settings."""
LAUNCHED = (
    r"""(?<!parallel )\b(?:dist(?:ributed)?_)?world[_ -]?size["')]* *[:=]* *<gpus>""",
    r"\bWORLD_SIZE=<gpus>",
    rf"\b(?:num|n)_gpus?{VALUE}(?P<gpus>[2-9]|[1-9][0-9]+)\b",
    r"--?num_gpus[ =]+<per_node>", r"--?num_nodes[ =]+<nodes>",
    r"--?nproc[_-]per[_-]node[ =]+<per_node>", r"\bnnodes[ =]+<nodes>",
    r"--?nnodes[ =]+(?P<unsaid>\$)", rf"\bnum_processes{VALUE}<gpus>",
    r"GLOBAL_RANK: [0-9]+, MEMBER: [0-9]+/<gpus>", r"\bSLURM_NTASKS=<gpus>",
)  # fmt: skip
"""Patterns for the GPUs of a job in which each process has one."""
