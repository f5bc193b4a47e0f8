"""Serving benchmarks of language models: results of vLLM, SGLang, aiperf and genai-perf.

A step produces a token for each concurrent request; its time is the median time between tokens
(``tpot``, ``inter_token_latency``), or the mean in genai-perf's tables. n is the number of
concurrent requests (``max_concurrency``), or the batch; if it is not limited, the user is asked,
with the size that the tokens a second imply. The user is also asked for the GPUs.

Source: vllm/benchmarks/serve.py, sglang/bench_serving.py, triton-inference-server/perf_analyzer's
genai-perf, ai-dynamo/aiperf.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _gpus(known: Known) -> Mapping[str, str]:
    """Return the GPUs of all instances, of which each works on other requests."""
    counts = [known[name] for name in ("tp", "pp", "dp") if name in known]
    return {"mesh": ",".join(counts)} if "tp" in known else {}


LOG = Printed(
    name="serving", what="results of vLLM's, SGLang's, aiperf's and genai-perf's benchmarks",
    unit="requests", program="LLM serving", warms=False,
    start="=+ Serving Benchmark Result =+", end="=" * 50,
    marks=[r'"(?:mean|median)_(?:tpot|itl)_ms"', r"(?:Mean|Median) (?:TPOT|ITL) \(ms\):",
           r'"inter_token_latency(?:_ms)?" *: *\{', "Median TPOT: [0-9.]+ ms",
           r"^Output token throughput \(per sec\):",
           r'Inter [Tt]oken [Ll]atency \(ms\)"?[ ,|│]'],
    lines=(
        r'"median_tpot_ms" *: *<ms>', r"Median TPOT(?: \(ms\))?: +<ms>",
        r'"output_throughput" *: *<work_rate>', r"Output token throughput[^:\n]*: +<work_rate>",
        r'"output_token_throughput" *: *\{[^{}]*?"avg" *: *<work_rate>',
        r'"inter_token_latency(?:_ms)?" *: *\{(?=[^{}]*"unit" *: *"ms")[^{}]*?"p50" *: *<ms>',
        r'Inter [Tt]oken [Ll]atency \(ms\)"?(?: *[|│]|,) *"?<ms>',
        r"^concurrency: <n>",
        r"Max(?:imum)? request concurrency: +<n>", r"--(?:max-)?concurrency[= ]+<n>",
        r" -tp[ =]+<tp>", r" -pp[ =]+<pp>", r" -dp[ =]+<dp>",
        r"--tensor-parallel-size[ =]+<tp>", r"--pipeline-parallel-size[ =]+<pp>",
        r"--data-parallel-size[ =]+<dp>",
    ),
    facts=[
        r'"(?:max_|request_)?concurrency" *: *\[?"? *<n>',
        r'"(?:tp|tp_size|tensor_parallel_size)" *: *"?<tp>',
        r'"(?:pp|pp_size|pipeline_parallel_size)" *: *"?<pp>',
        r'"(?:dp|dp_size|data_parallel_size)" *: *"?<dp>',
    ],
    more=_gpus,
)  # fmt: skip
FORMATS = (LOG.format,)
