"""What limits a kernel, by its name: matrix units in some precision, memory, or links.

Libraries name their kernels after what they do: cuBLAS and CUTLASS after product and precision
(``ampere_sgemm``, ``cutlass_80_tensorop_s1688gemm``; ``nvjet_sm90_tst`` after the types of input,
product and output), cuDNN after the convolution, rocBLAS after the types (``Cijk_..._HHS``),
PyTorch and Triton after the operation. Names are split into words at underscores, digits and
capitals, because a word's letters occur within others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from gpucast.data.traces.work_names import demangled, short

MATRIX, MEMORY = "matrix-product", "memory-bandwidth"
"""Families of bundled timings with these limits."""


@dataclass(frozen=True)
class Limit:
    """What limits work on a GPU.

    Attributes:
        words: for people.
        family: the family of bundled timings with the limit; None: all programs.
        precision: the precision of its units.
        known: whether the kernel's name told it.
    """

    words: str
    family: str | None
    precision: str
    known: bool = True


LINKS = Limit("NCCL and copies between GPUs", None, "")
HOST = Limit("copies to and from the host", None, "")
MEMORY_BOUND = Limit("limited by memory", MEMORY, "fp32")
IN_8_BITS = Limit("matrix products, fp8 and int8 as fp16", MATRIX, "fp16")

_PRODUCT = re.compile(
    r"gemm(?!v)|cutlass|xmma|nvjet|wgmma|cijk|convolve|cudnn_|winograd|[fd]prop|wgrad|dgrad|"
    r"fmha|flash_(fwd|bwd|attn)|flashattn|_attn_(fwd|bwd)|triton_(tem|mm|bmm)|splitkmul|matmul",
    re.IGNORECASE,
)
_8_BITS = re.compile(
    r"e4m3|e5m2|fp8|float8|nvjet_(sm\d+_)?q|i8i8|_s8(_|$)|i\d+gemm|i\d+x\d+x\d+gemm|imma|int8",
    re.IGNORECASE,
)
_PRECISIONS = (
    ("bf16", r"bf16|bfloat16|nvjet_(sm\d+_)?t|cijk_\w*_b[bs]s?_"),
    ("fp16", r"fp16|f16|half|h(884|1688|16816)|hgemm|nvjet_(sm\d+_)?h|cijk_\w*_h[hbs]+_"),
    ("fp64", r"[dz]gemm|[dz](884|16816)|f64|double|nvjet_(sm\d+_)?d|cijk_\w*_[dz]b_"),
    ("tf32", r"tf32|[sc]1688|nvjet_(sm\d+_)?s"),
    ("fp32_matrix", r"[sc]gemm|simt|ffma|f32|fp32|float|scudnn|cijk_\w*_[sc]b_"),
)
"""Marks of a matrix product's precision; the first that a name has counts."""
_ANYWHERE = re.compile(
    r"elementwise|pointwise|reduce|reduction|softmax|norm|bn|copy|memcpy|transpose|dropout|gemv|"
    r"triad|axpy|nrm2|im2col|col2im|nchw|nhwc|embedding|adam|rmsnorm|layernorm|scan"
)
_IN_LIBRARIES = re.compile(
    rf"{_ANYWHERE.pattern}|cat|index|gather|scatter|permute|pool|foreach|sort|radix|fft|spmv|csrmv|"
    r"stencil|convert|epilogue|scal|fill|activation|rope|cache|upsample|sampling|topk|unrolled|"
    r"vectorized|moments|mul|decode"
)
"""Words of kernels that are limited by memory: of any program's, and of libraries'."""
_MEMORY = re.compile(
    r"triton_(poi|red|per)|gemv|splitk?reduce|multi_tensor|paged_attention|bn_[fb]w|nchwto|nhwcto|"
    r"axpy|scal_kernel|nrm2|im2col|softmax|layernorm|rmsnorm|dot_kernel|(^|_)fft|fft\dd",
    re.IGNORECASE,
)
_LIBRARIES = re.compile(r"\b(at|thrust|cub|cudnn|cublas\w*|flashinfer|vllm|rocprim|apex)::")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d?[a-z]*|\d+")


def limit_of(kernel: str, like: str | None = None, precision: str = "fp32") -> Limit:
    """Return the limit of a kernel by its name; if that does not tell, family ``like`` and its
    precision."""
    name = demangled(kernel)
    return _limit(name) or Limit(
        f"others, as {like or 'all programs'}" + _double(name), like,
        "fp64" if _double(name) else precision, known=False,
    )  # fmt: skip


@cache
def _limit(kernel: str) -> Limit | None:
    if "nccl" in kernel.lower():
        return LINKS
    if _is_memory(kernel, short(kernel)):
        words = MEMORY_BOUND.words + _double(kernel)
        return Limit(words, MEMORY, "fp64" if _double(kernel) else "fp32")
    if not _PRODUCT.search(kernel):
        return None
    if _8_BITS.search(kernel):
        return IN_8_BITS
    precision = next(
        (name for name, marks in _PRECISIONS if re.search(marks, kernel, re.IGNORECASE)), None
    )
    if precision is None:
        return None
    return Limit(f"matrix products, {precision.removesuffix('_matrix')}", MATRIX, precision)


def _is_memory(name: str, bare: str) -> bool:
    if _MEMORY.search(bare):
        return True
    if _PRODUCT.search(bare):
        return False
    marks = _IN_LIBRARIES if _LIBRARIES.search(name) else _ANYWHERE
    words = _WORD.findall(bare.split("::")[-1])
    return any(marks.fullmatch(word.lower()) for word in words)


def _double(name: str) -> str:
    return ", fp64" if re.search(r"<double|\bdouble\b", name) else ""
