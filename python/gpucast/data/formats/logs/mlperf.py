"""MLPerf training's log lines (``:::MLLOG``).

Seconds a step are the global batch over the throughput of ``tracked_stats``, or
``train_step_time``. The first value includes start-up and is left out if others follow. If a log
has neither, the whole run is divided by its steps, evaluations included, and the user is asked for
the steps. Throughputs of gpt3 count tokens, so that n is the tokens of a batch. GPUs are the
accelerators of all nodes in ``:::SYSJSON``.

Source: mlcommons/logging; a published log.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.lines import Known, Printed


def _tokens(known: Known) -> Mapping[str, str]:
    if known.get("benchmark") != "gpt3":
        return {}
    batch, sequence = (runs.number(known.get(name, "")) for name in ("n", "sequence"))
    return {"n": f"{batch * sequence:.15g}" if batch and sequence else "", "unit": "tokens"}


KEY = r'"key": *"'
LOG = Printed(
    name="mlperf", what="MLPerf's MLLOG", program="MLPerf", unit="samples", marks=[":::MLLOG *{"],
    lines=(
        KEY + r'(?:tracked_stats|throughput)", *"value": *\{[^}\n]*"throughput": *<work_rate>',
        KEY + r'tracked_stats", *"value": *\{[^}\n]*"train_step_time": *<seconds>',
        KEY + r'tracked_stats", *"value"[^\n]*"step": *<step>',
        r'"time_ms": *<began_ms>,[^\n]*' + KEY + 'run_start"',
        r'"time_ms": *<ended_ms>,[^\n]*' + KEY + 'run_stop"',
    ),
    facts=[
        KEY + r'global_batch_size", *"value": *"?<n>',
        r'"number_of_nodes": *"?<nodes>', r'"accelerators_per_node": *"?<per_node>',
        KEY + r'gradient_accumulation_steps", *"value": *<accumulation>',
        KEY + r'max_sequence_length", *"value": *"?<sequence>',
        KEY + r'submission_benchmark", *"value": *"(?P<benchmark>[^"]+)"',
    ],
    case="{benchmark}", more=_tokens,
    unclear="no :::SYSJSON line states its nodes and accelerators",
)  # fmt: skip
FORMATS = (LOG.format,)
