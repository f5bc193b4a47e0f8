# %% [markdown]
# # Who shares a link? PCI Express under several copies at once
#
# **Source document 5**: Cirrascale, "Demonstrating PCIe Performance". Eight GPUs sit behind two
# PCI Express switches; a loop keeps copies in both directions of a GPU pair under way, and
# pairs run alone or at the same time.
#
# **Question.** Do pairs that cross the same upstream port share its bandwidth, and do pairs on
# disjoint links disturb each other?
#
# **Data.** Dataset `pcie-contention-cirrascale`: pairs 0-4 and 1-5 both cross from one switch
# to the other; pair 2-3 stays inside one. Rates with one decimal. Beside it `h200-transfers`,
# ours.

# %%
# %matplotlib inline
import pandas as pd
from IPython.display import Markdown, display

import gpucast as gc
from gpucast.paths.contention import contention
from gpucast.show.paper.document_figures import copies_at_once
from gpucast.show.plots.transfers import contention_matrix

data = gc.load("pcie-contention-cirrascale")
rows = [
    (t.caveat.removeprefix("experiment ").split(";")[0], f"{t.from_} to {t.to}".replace("gpu", ""),
     t.bytes / t.seconds[0] / 1e9)
    for t in data.transfers
]  # fmt: skip
rates = pd.DataFrame(rows, columns=["experiment", "copy", "GB/s"])
table = rates.pivot(index="copy", columns="experiment", values="GB/s")
display(table.map("{:.1f}".format, na_action="ignore").fillna("-"))
display(copies_at_once(None))

# %% [markdown]
# ## Both questions answered

# %%
alone = table["0-4 alone"]
shared = table["0-4 with 1-5"]
apart = table["0-4 with 2-3"]
share = (shared / alone).dropna()
kept = (apart / alone).dropna()
sums = shared[["0 to 4", "1 to 5"]].sum(), shared[["4 to 0", "5 to 1"]].sum()
assert share.between(0.48, 0.52).all()
assert (kept == 1).all()
Markdown(
    f"- **Shared port**: beside pair 1-5, pair 0-4 keeps {share.min():.0%} to {share.max():.0%} of"
    " its bandwidth. The two pairs together move"
    f" {sums[0]:.1f} and {sums[1]:.1f} GB/s in the two directions: what one pair had alone, split"
    " evenly.\n"
    f"- **Disjoint links**: beside pair 2-3, pair 0-4 keeps {kept.min():.0%}."
)

# %% [markdown]
# Even splitting is *max-min fairness*: every copy gets the same share of a full link, and what
# a copy cannot use goes to the others. gpucast forecasts sets of copies with that rule, from
# pairs alone.
#
# ## The same questions asked of four H200
#
# `gpucast-microbench` times every pair of copies at once. In the matrix each row is a timed
# copy, each column the copy beside it; 1 means undisturbed.

# %%
contended = contention(gc.load("h200-transfers"))[0]
factors = [pair.factor for pair in contended.pairs]
display(contention_matrix(contended, "Four H200: times as long as alone, beside one other copy"))
disturbed = [pair for pair in contended.pairs if pair.disturbed]
same = [pair for pair in disturbed if set(pair.copy) == set(pair.beside[0])]
assert len(same) == len(disturbed)
Markdown(
    f"Of {len(contended.pairs)} timed copies beside one other, {len(disturbed)} are disturbed, all"
    " of them by the opposite direction of the same GPU's link, by"
    f" {min(e.factor for e in same) - 1:.0%} to {max(e.factor for e in same) - 1:.0%}. Links of"
    " different GPUs are disjoint, as in the document's second question."
)

# %% [markdown]
# ## Three and more at once
#
# A resource that no pair fills shows only when more copies run: here the host's memory. The
# forecast of each set uses everything but that set.

# %%
sets = pd.DataFrame(
    (
        forecast.measured.label,
        f"{forecast.measured.copy[0]} to {forecast.measured.copy[1]}",
        forecast.measured.factor,
        forecast.left_out / forecast.measured.alone.value,
        forecast.error,
    )
    for forecast in contended.forecasts
    if len(forecast.measured.copies) >= 3
)
sets.columns = ["set", "timed copy", "measured", "forecast", "error"]
form = {"measured": "{:.2f}".format, "forecast": "{:.2f}".format, "error": "{:+.0%}".format}
display(sets.set_index(["set", "timed copy"]).apply(lambda column: column.map(form[column.name])))
worst = sets.error.abs().max()
typical = sets.error.abs().median()
assert typical < 0.15
Markdown(
    f"Measured and forecast are times as long as alone. The median error is {typical:.0%}, the"
    f" largest {worst:.0%}."
)

# %% [markdown]
# ## What it means for a step of molecular dynamics
#
# Under the paper's schedule, `star-serial`, GPUs are served one after another, so they never
# share a link at all: neither two GPUs in one box nor four at a host. Under `star-async` all
# are served at once, and the sets above are what happens.
#
# ## Caveats
#
# The document gives rates without the sizes of copies; the dataset stores the time of 1 GB.
# Every published copy runs beside its own reverse, so none of them is a rate of one direction
# alone.
#
# **Sources.** Cirrascale, "Demonstrating PCIe Performance" (rates, topology of the GB5470).
# `h200-transfers` (ours): `gpucast data contention h200-transfers`.
