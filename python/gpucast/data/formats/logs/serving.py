"""Benchmarks of language models that serve: vLLM's, SGLang's, aiperf's and genai-perf's results.

A step is a token that all requests under way get, by the median time between tokens (``tpot``,
``inter_token_latency``), or the mean, which the tables of genai-perf have first; n is the requests
under way (``max_concurrency``), or the batch; where nobody limits them, it is asked for, with what
tokens a second say of it. GPUs are not told: they are asked for.

Source: vllm/benchmarks/serve.py, sglang/bench_serving.py, triton-inference-server/perf_analyzer's
genai-perf, ai-dynamo/aiperf.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _gpus(known: Known) -> Mapping[str, str]:
    """GPUs of all that work on a request, and on others beside it."""
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
