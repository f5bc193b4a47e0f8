"""A traced program on another kind of GPU, against traces made again with kernels that last as long
as they are forecast to."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command_line import Run, answer_of, assert_refused
from gpucast.data.kinds import kind_named
from gpucast.data.traces import tables
from gpucast.data.traces.trace import Trace
from gpucast.data.traces.writing import write
from gpucast.errors import InputError
from gpucast.model.kinds import OTHER_HOST, time_ratios
from gpucast.paths.traced.forecast import NATIVE
from gpucast.paths.traced.kernel_limits import IN_8_BITS, LINKS, Limit, limit_of
from gpucast.paths.traced.other_kind import LATENCY, trace_on_kind
from made_traces import MadeTrace

OWN, OTHER = "A100-SXM4-80GB", "L40S"
GEMM, SUM = "ampere_sgemm_128x64_tn", "void at::native::reduce_kernel<512, 1>(float*)"
BOUND = {GEMM: ("matrix-product", "fp32_matrix"), SUM: ("memory-bandwidth", "fp32")}


def traced(step: Callable[[MadeTrace], None], gpus: tuple[str, ...] = (OWN,)) -> Trace:
    """A trace of twenty steps."""
    made = MadeTrace()
    for _ in range(20):
        with made.range("step"):
            step(made)
    trace = made.trace()
    machine = replace(trace.run.machine, gpus=list(gpus))
    return replace(trace, run=replace(trace.run, machine=machine))


def kernels_and_wait(times: dict[str, float]) -> Callable[[MadeTrace], None]:
    def step(made: MadeTrace) -> None:
        made.host(20e-6)
        for kernel, seconds in times.items():
            made.launch(kernel, seconds=seconds)
        made.copy(8, "d2h")

    return step


def ratio(kernel: str) -> float:
    mean, _ = time_ratios(kind_named(OWN), kind_named(OTHER), [BOUND[kernel]])
    return float(np.exp(mean[0]))


@pytest.mark.parametrize(
    "times",
    [
        {GEMM: 300e-6, SUM: 100e-6},
        {SUM: 0.8e-6},  # within the latency: no kind shortens or lengthens it
        {GEMM: 4e-6, SUM: 3e-6},
    ],
)
def test_steps_last_as_long_as_with_kernels_of_the_other_kind(times: dict[str, float]) -> None:
    there = {
        name: min(seconds, LATENCY) + max(seconds - LATENCY, 0) * ratio(name)
        for name, seconds in times.items()
    }
    answer = trace_on_kind(traced(kernels_and_wait(times)), OTHER, range_name="step")
    made_there = trace_on_kind(traced(kernels_and_wait(there)), OTHER, range_name="step")
    # A kernel's latency is a median over steps where the kernel before it hides it.
    assert answer.seconds == pytest.approx(made_there.native, rel=3e-3)
    shares = {share.words: share for share in answer.shares}
    for name, words in ((GEMM, "matrix products, fp32"), (SUM, "limited by memory")):
        if name in times:
            assert shares[words].native == pytest.approx(times[name], abs=2e-9)
            assert shares[words].seconds == pytest.approx(there[name], abs=2e-9)


def test_kernels_that_the_host_hides_do_not_lengthen_a_step() -> None:
    def step(made: MadeTrace) -> None:
        made.launch(SUM, seconds=50e-6)
        made.host(400e-6)
        made.wait_device()

    answer = trace_on_kind(traced(step), OTHER, range_name="step")
    assert ratio(SUM) > 1.5
    assert answer.seconds == pytest.approx(answer.native, rel=1e-6)
    # The host's own time is as uncertain there as OTHER_HOST and the simulation say.
    sd = np.log(answer.high / answer.low) / (2 * 1.645)
    assert sd == pytest.approx(np.hypot(OTHER_HOST, NATIVE), rel=0.05)


def test_intervals_are_those_of_the_ratio() -> None:
    answer = trace_on_kind(traced(kernels_and_wait({SUM: 0.1})), OTHER, range_name="step")
    _, covariance = time_ratios(kind_named(OWN), kind_named(OTHER), [BOUND[SUM]])
    sd = np.log(answer.high / answer.low) / (2 * 1.645)
    assert sd == pytest.approx(np.sqrt(covariance[0, 0] + NATIVE**2), rel=0.05)
    assert answer.low < answer.seconds < answer.high


def test_a_graphs_time_is_divided_among_its_kernels() -> None:
    def step(made: MadeTrace) -> None:
        made.host(10e-6)
        made.graph([(GEMM, 300e-6), (SUM, 100e-6)], stream=20)
        made.wait_stream(20)

    answer = trace_on_kind(traced(step), OTHER, range_name="step")
    shares = {share.words: share.native for share in answer.shares}
    assert shares["matrix products, fp32"] == pytest.approx(300e-6, rel=0.01)
    assert shares["limited by memory"] == pytest.approx(100e-6, rel=0.01)
    assert answer.ratio == pytest.approx((3 * ratio(GEMM) + ratio(SUM)) / 4, rel=0.05)


@pytest.mark.parametrize(
    ("kernel", "family", "precision"),
    [
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32", "matrix-product", "tf32"),
        ("cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4", "matrix-product", "tf32"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(...)",
         "matrix-product", "fp32_matrix"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "matrix-product", "fp16"),
        ("volta_h884gemm_128x64_ldg8_nn", "matrix-product", "fp16"),
        ("nvjet_sm90_tst_mma_128x256x64_4_1x2_h_bz_coopA_TNN", "matrix-product", "bf16"),
        ("nvjet_sm100_hsh_mma_128x256x64_4_1x2_h_bz_coopA_TNN", "matrix-product", "fp16"),
        ("cutlass_80_tensorop_z884gemm_64x32_16x3_nn_align1", "matrix-product", "fp64"),
        ("volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_nhwc_tn_v1", "matrix-product", "fp16"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI16x16x16x1", "matrix-product", "fp16"),
        ("Cijk_Ailk_Bljk_SB_MT128x128x16_MI32x32x2x1", "matrix-product", "fp32_matrix"),
        ("triton_poi_fused__scaled_dot_product_flash_attention_3", "memory-bandwidth", "fp32"),
        ("void vllm::paged_attention_v2_kernel<unsigned short, 128>", "memory-bandwidth", "fp32"),
        ("void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>", "memory-bandwidth", "fp32"),
        ("void at::native::vectorized_elementwise_kernel<4, exp_kernel_cuda<double>>(int)",
         "memory-bandwidth", "fp64"),
        ("kPMEFillChargeGridBuffer_kernel", "molecular-dynamics", "fp32"),
        ("void Kokkos::Impl::cuda_parallel_launch<Kokkos::ParallelReduce<Pair>>",
         "molecular-dynamics", "fp32"),
        ("locateParticles", "molecular-dynamics", "fp32"),
        ("triton_tem_fused_mm_0", "molecular-dynamics", "fp32"),  # in which precision?
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", "matrix-product", "fp16"),
        ("nvjet_tst_256x128_64x4_2x1_v_bz_TNN", "matrix-product", "bf16"),
        ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t"
         ">>(flash::Flash_fwd_params)", "matrix-product", "bf16"),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", "matrix-product", "fp64"),
        ("void implicit_convolve_sgemm<float, float, 128, 5, 5, 3>(int)",
         "matrix-product", "fp32_matrix"),
        ("void gemv2T_kernel_val<int, float>(float)", "memory-bandwidth", "fp32"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
         "memory-bandwidth", "fp32"),
        ("void (anonymous namespace)::softmax_warp_forward<float, float, 8>()",
         "memory-bandwidth", "fp32"),
        ("gpucast::mdapp::cuda::tuned<0, false, 4>(ForceArguments)", "molecular-dynamics", "fp32"),
    ],
)  # fmt: skip
def test_names_of_kernels_tell_their_limit(kernel: str, family: str, precision: str) -> None:
    limit = limit_of(kernel, "molecular-dynamics")
    assert (limit.family, limit.precision) == (family, precision)


def test_links_bytes_and_unknown_kernels() -> None:
    assert limit_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)") == LINKS
    assert limit_of("secret") == Limit("others, as all programs", None, "fp32", known=False)
    for name in ("nvjet_sm100_qqtst_128x256", "sm89_xmma_gemm_e4m3f32_e4m3f32_f32_tn_n",
                 "cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16"):  # fmt: skip
        assert limit_of(name) == IN_8_BITS


def test_copies_between_gpus_take_a_time_between_none_and_all_of_the_ratio_of_links() -> None:
    def step(made: MadeTrace) -> None:
        made.copy(100_000_000, "p2p", seconds=10e-3)

    answer = trace_on_kind(traced(step), OTHER, range_name="step")
    (share,) = answer.shares
    links = kind_named(OWN).link / kind_named(OTHER).link
    assert 1 < share.low / 10e-3 < share.seconds / 10e-3 < share.high / 10e-3 < links
    assert share.seconds / 10e-3 == pytest.approx(np.sqrt(links), rel=0.01)
    assert any(f"between 1 and {links:.3g} times as long" in line for line in answer.warnings)


def test_kinds_without_units_compute_in_fp32() -> None:
    own, other = kind_named(OWN), kind_named("V100-SXM2-16GB")
    tf32, _ = time_ratios(own, other, [("matrix-product", "tf32")])
    fp32, _ = time_ratios(own, other, [("matrix-product", "fp32_matrix")])
    assert tf32[0] > fp32[0]  # as it is faster than fp32 on the own kind
    bf16 = traced(kernels_and_wait({"nvjet_tst_256x128_64x4_2x1_v_bz_TNN": 1e-3}))
    answer = trace_on_kind(bf16, other.name, range_name="step")
    assert any("bf16: one of the kinds has no such units" in line for line in answer.warnings)


def test_what_it_rests_on_is_said() -> None:
    answer = trace_on_kind(traced(kernels_and_wait({SUM: 3e-6})), OTHER, range_name="step")
    assert any("a step timed there tells more" in line for line in answer.warnings)
    assert any("of the kernels' time is within their first 1 us" in line
               for line in answer.warnings)  # fmt: skip
    assert any("48 GB" in line and "80 GB" in line for line in answer.warnings)
    assert not any("limit is not known" in line for line in answer.warnings)

    def step(made: MadeTrace) -> None:
        for name, seconds in ((SUM, 1e-3), ("secret<int>(int)", 3e-3), ("other", 1e-3)):
            made.launch(name, seconds=seconds)
        made.copy(8, "d2h", seconds=4e-3)  # which has no name

    secret = traced(step)
    answer = trace_on_kind(secret, OTHER, range_name="step")
    assert any("44 % of the GPUs' time is of kernels whose limit is not known (secret)" in line
               for line in answer.warnings)  # fmt: skip


def test_no_step_is_shorter_than_its_work_in_a_stream() -> None:
    """The host waits for nothing that the trace shows, as if another thread did."""

    def step(made: MadeTrace) -> None:
        made.host(1e-3)
        made.launch(SUM, seconds=0.9e-3)

    answer = trace_on_kind(traced(step), OTHER, range_name="step")
    (share,) = answer.shares
    assert share.seconds > 1.5e-3
    assert answer.seconds == pytest.approx(share.seconds, rel=1e-6)
    assert answer.low > 0.9 * share.low


@pytest.mark.parametrize(
    ("taken", "remark"),
    [
        (None, "A100-SXM4-80GB has 80 GB: the trace does not state how much"),
        (47.9e9, None),
        (
            63.4e9,
            "took 63.4 GB of a GPU's memory, with all that its allocator kept; L40S has 48 GB",
        ),
    ],
)
def test_memory_that_does_not_fit_is_said_first(taken: float | None, remark: str | None) -> None:
    trace = traced(kernels_and_wait({SUM: 1e-3}))
    memory = None if taken is None else int(taken)
    trace = replace(trace, run=replace(trace.run, gpu_memory=memory))
    first = trace_on_kind(trace, OTHER, range_name="step").warnings[0]
    assert remark in first if remark else "memory" not in first


def test_graphs_recorded_as_a_whole_are_not_known() -> None:
    def step(made: MadeTrace) -> None:
        made.host(10e-6)
        made.graph([(SUM, 1e-3)], stream=20)
        made.wait_stream(20)

    trace = traced(step)
    (process,) = trace.processes
    work = process.work.assign(kind=np.uint8(tables.GRAPH), name=np.uint32(0))
    whole = replace(trace, processes=(replace(process, work=work),))
    answer = trace_on_kind(whole, OTHER, range_name="step")
    assert [share.words for share in answer.shares] == ["others, as all programs"]
    assert any("graphs recorded as a whole" in line for line in answer.warnings)


def test_the_kind_is_that_of_the_gpus_that_worked() -> None:
    step = kernels_and_wait({SUM: 1e-3})
    both = traced(step, (OWN, "Tesla T4"))
    assert trace_on_kind(both, OTHER, range_name="step").own == OWN
    with pytest.raises(InputError, match="is of A100-SXM4-80GB, not of T4"):
        trace_on_kind(both, OTHER, from_kind="T4", range_name="step")

    def on_both(made: MadeTrace) -> None:
        made.launch(SUM, seconds=1e-3)
        made.launch(SUM, seconds=1e-3, device=1)
        made.wait_device()

    mixed = traced(on_both, (OWN, "Tesla T4"))
    with pytest.raises(InputError, match="A100-SXM4-80GB and Tesla T4"):
        trace_on_kind(mixed, OTHER, range_name="step")
    assert trace_on_kind(mixed, OTHER, from_kind="T4", range_name="step").own == "T4"
    with pytest.raises(InputError, match="'NVIDIA RTX A2000', is not in the catalogue"):
        trace_on_kind(traced(step, ("NVIDIA RTX A2000",)), OTHER)


def test_traces_of_the_kind_or_of_none_are_refused() -> None:
    trace = traced(kernels_and_wait({SUM: 1e-3}))
    with pytest.raises(InputError, match="already"):
        trace_on_kind(trace, OWN)
    with pytest.raises(InputError, match="none of"):
        trace_on_kind(trace, OTHER, like="no-family", range_name="step")
    unstated = replace(trace, run=replace(trace.run, machine=replace(trace.run.machine, gpus=[])))
    with pytest.raises(InputError, match="does not state its kind"):
        trace_on_kind(unstated, OTHER)
    stated = trace_on_kind(unstated, OTHER, from_kind=OWN, range_name="step")
    assert stated.seconds == trace_on_kind(trace, OTHER, range_name="step").seconds


def test_from_the_shell(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "program.trace"
    write(traced(kernels_and_wait({GEMM: 300e-6, SUM: 100e-6})), file)
    command = ("what-if", file, "--kind", OTHER, "--range", "step")
    answer = answer_of(run(*command, "--json"))
    assert answer["own"] == OWN
    assert answer["shares"][0]["words"] == "matrix products, fp32"
    text = run(*command)[1]
    assert f"A step on {OTHER}: " in text
    assert "limited by memory" in text
    assert_refused(run(*command, "--network", "25Gb/s,30us"), "--network", "another path")
    assert_refused(run(*command, "--cells", "cells.csv"), "--cells", "model files")
    assert_refused(run(*command, "-o", tmp_path / "model.json"), "one trace")
    assert_refused(run("what-if", file, "--like", "training"), "--like", "--kind")
