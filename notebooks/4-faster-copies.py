# %% [markdown]
# # Faster copies: the memory, the driver, and both directions at once
#
# **Source document 4**: N. Kopp, "Faster copies to CUDA GPUs" (CodeProject, 2012). Copies of
# 256 MiB from pageable and from page-locked memory, on a GPU driven as a display (WDDM) and on
# one driven as a compute device (TCC), both under Windows 7 and PCI Express 2.0. The author
# argues for GPUs with two copy engines: upload, download and compute at once, "50 % or more".
#
# **Question.** How much do page-locked memory, the driver model and overlap give?
#
# **Data.** Dataset `copy-timed-2012` (means of 100 copies); beside it `h200-transfers`, ours.

# %%
# %matplotlib inline
import pandas as pd
from IPython.display import Markdown, display

import gpucast as gc
from gpucast.paths.contention import contention
from gpucast.paths.overlap import overlap_efficiencies
from gpucast.show.paper.document_figures import copies_of_one_size
from gpucast.util.units import duration, percent

NAMES = {"geforce-gtx460-wddm": "GTX 460, WDDM", "quadro-4000-tcc": "Quadro 4000, TCC"}


def rates(data: gc.Dataset, size: int) -> pd.DataFrame:
    frame = data.frame("transfer").query(
        "bytes == @size and concurrent == 0 and memory in ('pageable', 'pinned') "
        "and route in ('h2d', 'd2h') and engine == 'copy' and (method.isna() or method == 'call')"
    )
    gbps = frame.bytes / frame.seconds / 1e9
    by = [frame.machine, frame.memory, frame.route]
    return gbps.groupby(by).median().unstack()[["h2d", "d2h"]]


h200 = gc.load("h200-transfers")
table = pd.concat([rates(gc.load("copy-timed-2012"), 2**28), rates(h200, 2**28)])
names = NAMES | {"h200-x4": "H200, Linux"}
table.index = table.index.set_levels([names[m] for m in table.index.levels[0]], level=0)
display(table.map("{:.2f} GB/s".format))
display(copies_of_one_size(h200))

# %% [markdown]
# ## The driver model alone closes the gap

# %%
gain = table.xs("pinned", level="memory") / table.xs("pageable", level="memory")
wddm, tcc = (gain.loc[name] for name in NAMES.values())
assert wddm.min() > 1.4
assert tcc.max() < 1.2
modern = gain.loc["H200, Linux"]
assert modern.min() > 2
Markdown(
    f"Page-locked memory is {wddm.h2d:.2f} (up) and {wddm.d2h:.2f} (down) times as fast as pageable"
    f" under WDDM, but only {tcc.h2d:.2f} and {tcc.d2h:.2f} times under TCC: there the driver's own"
    " copy into page-locked memory keeps up with the bus. Since then the bus has grown faster than"
    f" that copy: on an H200 the gap is {modern.h2d:.1f} and {modern.d2h:.1f} times. The advice to"
    " page-lock is more right than it was."
)

# %% [markdown]
# ## Two copy engines: what overlap gives
#
# The claim is "50 % or more". If upload, download and compute take equally long, doing all
# three at once instead of one after the other can save at most two thirds of the time.

# %%
rows = [
    (overlap.label, sum(overlap.parts_alone), overlap.seconds, overlap.efficiency)
    for overlap in overlap_efficiencies(h200)
]
overlap = pd.DataFrame(rows, columns=["parts", "one after the other", "at once", "hidden"])
overlap["saved"] = 1 - overlap["at once"] / overlap["one after the other"]
form = {"one after the other": duration, "at once": duration, "hidden": percent, "saved": percent}
display(overlap.set_index("parts").apply(lambda column: column.map(form[column.name])))
three = overlap[overlap.parts == "h2d + d2h + kernel"].iloc[0]
assert three.saved > 0.5
Markdown(
    f"Upload, download and a kernel at once save {percent(three.saved, 0)} of the time on an H200,"
    f" {percent(three.hidden, 0)} of what could be hidden: the claim holds. Both directions disturb"
    " each other a little:"
)

# %%
(setting, *_) = contention(h200)
both = [
    pair.factor
    for pair in setting.pairs
    if set(pair.copies) == {("host", "gpu0"), ("gpu0", "host")}
]
assert 1 < max(both) < 1.5
Markdown(
    "copying both ways at once, each direction of GPU 0 takes "
    + " and ".join(f"{factor:.2f}" for factor in both[:2])
    + " times as long as alone."
)

# %% [markdown]
# ## Seven meanings of GPUDirect
#
# The document lists seven things that have been called GPUDirect. Where gpucast measures the
# cost:
#
# | | meaning | in gpucast |
# |---|---|---|
# | 1 | third-party card to GPU through system memory | - |
# | 2 | third-party card to GPU, not through system memory | - |
# | 3 | GPU to network card through system memory | what a remote GPU's server does: path `remote` |
# | 4 | GPU to network card, not through system memory | - |
# | 5 | GPU to GPU through system memory | route `staged` |
# | 6 | GPU to GPU direct | route `peer`, engine `copy` |
# | 7 | a kernel reads another GPU's memory | route `peer`, engine `kernel` |
#
# The last three on four H200, 64 MiB or the nearest size that was measured:

# %%
wanted = [
    ("5, staged through the host", "route == 'staged'"),
    ("6, peer", "route == 'peer' and engine == 'copy'"),
    ("7, peer, by a kernel", "route == 'peer' and engine == 'kernel'"),
]
frame = h200.frame("transfer").query("concurrent == 0")
rows = []
for meaning, query in wanted:
    queried = frame.query(query)
    size = min(queried.bytes.unique(), key=lambda each: abs(each - 2**26))
    rate = (size / queried[queried.bytes == size].seconds / 1e9).median()
    rows.append((meaning, f"{size / 2**20:.0f} MiB", rate))
direct = pd.DataFrame(rows, columns=["meaning", "size", "GB/s"])
assert direct["GB/s"].iloc[1] > 5 * direct["GB/s"].iloc[0]
direct.set_index("meaning").round()

# %% [markdown]
# ## Caveats
#
# The two GPUs of 2012 differ in more than the driver model. Means hide outliers. Under Linux
# there is no WDDM: the driver behaves like TCC.
#
# **Sources.** N. Kopp, "Faster copies to CUDA GPUs", CodeProject, 2012 (rates and the seven
# meanings). `h200-transfers` (ours).
