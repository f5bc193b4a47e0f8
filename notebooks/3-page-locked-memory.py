# %% [markdown]
# # What page-locked host memory really does
#
# **Source document 3**: "CUDA PagedLockedHostMemory no seinou ni tsuite" (on the performance of
# CUDA page-locked host memory, 2010). Host memory for a GPU comes in kinds: ordinary
# (*pageable*), page-locked and *write-combined* (the CPU's caches are bypassed), *mapped* (the
# GPU reads and writes it in place), and both. The author times copies, kernels and CPU loops
# over each.
#
# **Question.** Which kind should a program take, and what does the wrong one cost?
#
# **Data.** Datasets `bandwidthtest-gtx480` and `host-memory-gtx480`: one GeForce GTX 480,
# arrays of 50 MB, one run each. (The source labels its times as nanoseconds; its own MB/s
# column shows that they are microseconds.) Beside them `h200-transfers`, ours, from one H200.

# %%
# %matplotlib inline
from IPython.display import Markdown, display

import gpucast as gc
from gpucast.paths.overlap import overlap_efficiencies
from gpucast.show.paper.document_figures import host_memory
from gpucast.util.units import duration, percent

KINDS = ["pageable", "write-combined", "mapped", "mapped-write-combined"]
then = gc.load("host-memory-gtx480").frame("host_memory")
seconds = then.pivot_table(
    index=["pattern", "runner", "phase"], columns="memory", values="seconds", observed=True
)[KINDS]
PATTERNS = ["simple", "indirect", "indirect_random"]

# %% [markdown]
# ## Copies: page-locked memory is about twice as fast
#
# `copy` is one array up and one down. Mapped memory needs no copy at all.

# %%
copy = seconds.loc["simple", "gpu_copy_only", "copy"]
gain = copy["pageable"] / copy["write-combined"]
assert 1.8 < gain < 2.5
assert copy["mapped"] < 1e-5
tool = gc.load("bandwidthtest-gtx480").frame("transfer").query("route != 'local'")
rate = (tool.bytes / tool.seconds / 1e9).groupby([tool.memory, tool.route]).first().unstack()
display(rate.map("{:.2f} GB/s".format))
Markdown(
    f"In the author's program write-combined memory copies {gain:.1f} times as fast as pageable"
    f" ({duration(copy['write-combined'])} against {duration(copy['pageable'])}). NVIDIA's"
    " bandwidthTest (table) sees less of a difference on the same GPU. The document does not say"
    " why; a pageable buffer that the program touches for the first time would explain it."
)

# %% [markdown]
# ## CPU loops: never read write-combined memory
#
# The figure has these loops, and the GPU's copies and kernels of the next section.

# %%
loop = seconds.xs("cpu", level="runner").xs("loop", level="phase").loc[PATTERNS]
slower = loop["write-combined"] / loop["pageable"]
assert 60 < slower["simple"] < 70
display(host_memory(None))
Markdown(
    "The same loop over write-combined memory takes "
    + ", ".join(f"{ratio:.0f} times ({name})" for name, ratio in slower.items()).replace("_", " ")
    + " as long as over pageable memory: every read goes to memory. The document says about 65."
)

# %% [markdown]
# ## Kernels: mapped memory saves the copy and slows the kernel

# %%
total = seconds.xs("gpu", level="runner").xs("copy_and_kernel", level="phase").loc[PATTERNS]
mapped = total["mapped"] / total["write-combined"]
assert (mapped > 1).all()
Markdown(
    "With its copies counted, a program on write-combined memory is still "
    f"{mapped.min():.1f} to {mapped.max():.1f} times as fast as one that reads mapped memory in"
    " place. (One block of 128 threads: far too few to hide the bus. See the H200 below.)"
)

# %% [markdown]
# ## Allocation costs more than it saves, if it is done for every step

# %%
everything = seconds.loc["indirect", "gpu_copy_only", "all"]
rest = everything - seconds.loc["indirect", "gpu_copy_only", "copy"]
saved = copy["pageable"] - copy["write-combined"]
steps = (rest["write-combined"] - rest["pageable"]) / saved
assert 1 < steps < 10
Markdown(
    f"Allocation and release take {duration(rest['pageable'])} with pageable and"
    f" {duration(rest['write-combined'])} with write-combined memory. A copy up and down saves"
    f" {duration(saved)}, so page-locked memory has paid for itself after {steps:.0f} rounds,"
    " provided that it is allocated once."
)

# %% [markdown]
# ## The same on an H200
#
# Measured with `gpucast-microbench`: the same loops, in proportion to the bytes; here *pinned*
# is page-locked memory that is not write-combined, and *portable* page-locked for all GPUs.

# %%
h200 = gc.load("h200-transfers")
frame = h200.frame("host_memory").query("phase in ('copy', 'loop')")
per_byte = frame.seconds / frame.bytes * 50e6
now = per_byte.groupby([frame.runner, frame.pattern, frame.phase, frame.memory]).median().unstack()
now = now[["pageable", "pinned", "portable", *KINDS[1:]]]
display(now.map(duration, na_action="ignore").fillna("-"))
wc = now.loc["cpu", "sequential", "loop"]
kernel = now.loc["gpu", "random", "loop"]
copies = now.loc["gpu", "none", "copy"]
assert 0.8 < wc["write-combined"] / wc["pinned"] < 1.25
assert kernel["mapped"] > 20 * kernel["pinned"]
in_order = now.loc["gpu", "sequential", "loop"]
copied = copies["pinned"] + in_order["pinned"]
assert in_order["mapped"] < copied
Markdown(
    f"- Copies: page-locked memory is {copies['pageable'] / copies['pinned']:.1f} times as fast as"
    " pageable.\n"
    "- **Write-combined memory costs the CPU nothing here**: "
    f"{wc['write-combined'] / wc['pinned']:.2f} times the loop over pinned memory. The machine is"
    " virtual, and memory types set by a guest's driver need not reach the hardware; we do not know"
    " that this is why. On other machines, measure before believing it.\n"
    f"- A kernel that reads mapped memory at random takes {kernel['mapped'] / kernel['pinned']:.0f}"
    " times as long as on the GPU's own. In order, with the whole GPU at work, it is different:"
    f" {duration(in_order['mapped'])} in place beat {duration(copied)} with copies, for each word"
    " crosses the bus once either way, and nothing waits for a copy to end."
)

# %% [markdown]
# ## What the author left open
#
# **Overlap of copies and compute**, and **portable page-locked memory with several GPUs**. An
# efficiency of 100 % means that everything is hidden behind the longest part.

# %%
hidden = {overlap.label: overlap.efficiency for overlap in overlap_efficiencies(h200)}
assert 0.9 < copies["portable"] / copies["pinned"] < 1.1
assert min(hidden.values()) > 0.85
Markdown(
    "Overlap on an H200: "
    + ", ".join(f"{label} {percent(share, 0)}" for label, share in hidden.items())
    + ".\n\nPortable memory copies in"
    f" {copies['portable'] / copies['pinned']:.2f} times the time of pinned memory, measured from"
    " one GPU. Where host and GPUs share one address space, as everywhere today, page-locked"
    " memory is portable anyway. What several GPUs get of it at once is in"
    " [5-pcie-contention.ipynb](5-pcie-contention.ipynb)."
)

# %% [markdown]
# ## Caveats
#
# One run each in 2010; the phase "all" of the pattern *simple* holds a second of start-up and
# is not used here. Plain pinned memory, one of the four kinds, is missing in the document: its
# page-locked runs are write-combined.
#
# **Sources.** The document named above (times of the GTX 480). `h200-transfers` (ours).
