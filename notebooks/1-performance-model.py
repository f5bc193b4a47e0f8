# %% [markdown]
# # Claret on one GPU, here and far away: what the performance model says
#
# **Source document 1**: Setoguchi & Narumi (University of Electro-Communications, about 2015)
# run a molten-salt molecular-dynamics program, Claret, on one to eight GPUs: native ones in PCI
# Express boxes, and remote ones that DS-CUDA shows to the unchanged program over InfiniBand.
# They model the time of a step of n particles on N GPUs as
#
# $$T = T_{gpu} + T_{cpu} + T_{com}$$
# $$T_{gpu} = \lceil n / (k c N) \rceil \, n \, k \, c \, t_{gpu}, \qquad T_{cpu} = t_{cpu} \, n$$
# $$T_{com} = \frac{16 n N}{B_{h2d}} + N L_{h2d} + \frac{12 n}{B_{d2h}} + N L_{d2h} + t_{kernel} N$$
#
# (c cores a GPU, k c N threads at once; each GPU gets 16 n bytes, 12 n come back in all).
#
# **Question.** What do the model's parameters come to on a machine whose figures are public,
# and what can one forecast with them?
#
# **Data.** The paper prints no fitted values, and no number below is the paper's. But the user
# guide of DS-CUDA (2012) tables the same program on one GeForce GTX 280, local and remote, and
# copies over both networks: the bundled dataset `dscuda`. Its Gflops are whole numbers, so
# small systems are known badly: the bars in the figure.

# %%
# %matplotlib inline
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

import gpucast as gc
from gpucast.paths.series import series_of as copies_of
from gpucast.show.plots.step_series import series_of
from gpucast.show.plots.steps import gflops, step_times
from gpucast.show.plots.transfers import drawn, transfer_times
from gpucast.util.units import duration, percent, throughput

data = gc.load("dscuda")
paths = ("local", "infiniband", "ethernet100")
models = {path: gc.fit(data, path=path, model="paper") for path in paths}
step_times(
    series_of(data, list(models.values())),
    [1],
    "Claret on one GeForce GTX 280: published, and the paper's form fitted",
)

# %% [markdown]
# Points are published, lines fitted, bands 90 % intervals, dashed lines extrapolation.
#
# ## What step times tell, and what they do not
#
# The local path has step times only. Seven parameters stand in the formulas, but T depends on
# them through fewer combinations: with N = 1 throughout, a latency cannot be told from a
# launch, nor a byte's time from a particle's. gpucast gives such parameters no value and states
# what is known instead.


# %%
def known(model: gc.Model) -> pd.DataFrame:
    rows = {
        name: (entry["value"], *entry["ci95"])
        for name, entry in model.content["parameters"].items()
        if entry["identified"]
    }
    rows |= {
        combination["expression"]: (combination["value"], *combination["ci95"])
        for combination in model.content["combinations"]
    }
    return pd.DataFrame.from_dict(rows, "index", columns=["value (SI)", "from", "to (95 %)"])


display(known(models["local"]).map("{:.3g}".format))
local = models["local"].content["combinations"]
assert {"t_kernel", "L_h2d", "L_d2h"} in [set(combination["parameters"]) for combination in local]
Markdown(
    f"k is not known either: {len(models['local'].content['k_plausible'])} values fit about alike."
)

# %% [markdown]
# With the copies of the same path beside the steps, everything has a value. That is why gpucast
# measures transfers as well.

# %%
table = pd.concat({path: known(models[path]) for path in paths[1:]}, axis=1)
display(table.map("{:.3g}".format))
assert all(
    entry["identified"]
    for path in paths[1:]
    for entry in models[path].content["parameters"].values()
)

# %% [markdown]
# ## Finding: everything about communication is dearer when it is remote
#
# The paper finds L, 1/B and t_kernel larger with DS-CUDA, and that this decides the gap at
# small n. Here: the fixed cost of a step, t_kernel + L_h2d + L_d2h, which all three paths know.

# %%
fixed = {
    path: sum(models[path].parameter(name) for name in ("t_kernel", "L_h2d", "L_d2h"))
    for path in paths
}
fixed["local"] = next(
    combination["value"] for combination in local if "t_kernel" in combination["parameters"]
)
launches = {
    path: models[path].parameter("t_kernel") / models[path].parameter("L_h2d") for path in paths[1:]
}
assert fixed["local"] < fixed["infiniband"] < fixed["ethernet100"]
assert models["infiniband"].parameter("B_h2d") > models["ethernet100"].parameter("B_h2d")
Markdown(
    f"A step costs {duration(fixed['local'])} before it moves or computes anything on the local"
    f" GPU, {duration(fixed['infiniband'])} over InfiniBand and {duration(fixed['ethernet100'])}"
    " over 100 Mbit/s Ethernet. A launch through DS-CUDA takes as long as"
    f" {launches['infiniband']:.0f} and {launches['ethernet100']:.0f} small copies: it is not one"
    " message but several."
)

# %% [markdown]
# ## A straight line is not enough for copies
#
# T = L + bytes/B fits the smallest and the largest copies over InfiniBand and misses those
# between. gpucast looks for breakpoints where the timings show them.

# %%
only = data.select(path="infiniband")
straight = gc.fit_transfers(only, piecewise=False)
pieces = gc.fit_transfers(only)
copies = only.frame("transfer").set_index("route")
sizes = copies.bytes.astype(float)
miss = {
    name: max(
        np.abs(fit.seconds(sizes[fit.route].to_numpy()) / copies.seconds[fit.route] - 1).max()
        for fit in fits
    )
    for name, fits in (("straight", straight), ("pieces", pieces))
}
assert miss["pieces"] < miss["straight"] / 2
up = straight[0]
display(
    Markdown(
        f"The line gives L = {duration(up.values[0])} and B = {throughput(up.values[1])} up, and is"
        f" off by up to {percent(miss['straight'], 0)}; pieces by up to"
        f" {percent(miss['pieces'], 0)}."
    )
)
transfer_times(drawn(copies_of(only)), "Copies through DS-CUDA over InfiniBand, GeForce GTX 280")

# %% [markdown]
# ## Forecast: another network, from its copies alone
#
# The model splits a step into what the network changes and what it does not. So Ethernet's step
# times follow from InfiniBand's steps and Ethernet's copies; Ethernet's steps are only looked
# at to judge the forecast. Two ways to treat the launch, which no copy measures: keep
# InfiniBand's, or take it for a number of messages and scale it with the latency.

# %%
error = {}
for launch in ("keep", "scale"):
    what_if = gc.what_if(models["infiniband"], data, "ethernet100", launch=launch)
    checked = gc.validate(what_if, data, path="ethernet100")
    error[launch] = checked["median_relative_error"]
assert error["scale"] < 0.1 < error["keep"]
Markdown(
    f"Median error over the {len(checked['cells'])} published sizes: {percent(error['keep'], 0)}"
    f" with the launch kept, {percent(error['scale'])} with the launch scaled."
)

# %% [markdown]
# ## More GPUs than were measured
#
# The tables end at one GPU and 5832 particles. Beyond, only the form of the model speaks, and
# every forecast of what is beyond is marked as an extrapolation.

# %%
best = models["infiniband"].best([512, 5832, 20_000, 100_000])
assert best.gpus.is_monotonic_increasing
assert best.set_index("n").extrapolated[100_000]
best[["n", "gpus", "probability", "within_2_percent", "extrapolated"]]

# %%
gflops(
    series_of(None, [models["infiniband"]]),
    [1000, 10_000, 100_000],
    "InfiniBand: forecast from one GPU",
)

# %% [markdown]
# ## What the authors left open
#
# **Efficiency relative to peak.** At best, N GPUs do nothing but compute at the full rate
# t_gpu: n² t_gpu / N. The share of that in a step is the efficiency.
#
# **An index for the best use of remote GPUs.** A remote GPU is used well where it costs little
# extra. So: the smallest n from which a remote step takes at most 10 % longer than a native
# one. Here both were measured, so the index needs no model.

# %%
sizes = pd.Index([1000, 10_000, 100_000], name="n")
efficiency = pd.DataFrame(
    {
        path: sizes**2 * models[path].parameter("t_gpu")
        / models[path].forecasts(sizes, [1] * len(sizes)).seconds
        for path in ("infiniband", "local")
    },
    index=sizes,
).rename_axis(columns="path")  # fmt: skip
display(efficiency.map("{:.1%}".format))
published = data.frame().pivot(index="n", columns="path", values="seconds")
extra = published[[*paths[1:]]].div(published["local"], axis=0).loc[512:] - 1
display(extra.map("{:+.0%}".format))
assert (np.diff(efficiency["infiniband"]) > 0).all()
assert (extra.diff().dropna() < 0).all().all()
assert extra.min().min() > 0.1
Markdown(
    f"The extra cost falls with n, to {extra['infiniband'].iloc[-1]:.0%} over InfiniBand at"
    f" n = {extra.index[-1]}, but not below 10 % within the tables. On four H200, where remote GPUs"
    " are measured up to 110,592 particles, the [results](../docs/results/h200.md) answer the same"
    " question: one costs less than 10 % extra from some 1000 particles on."
)

# %% [markdown]
# ## Caveats
#
# One repetition a cell, whole-number Gflops, one GPU count: noise and lack of fit cannot be
# told apart, and nothing here tests how time changes with N. The efficiency counts against the
# rate that the fit finds, not against the chip's data sheet: a kernel that wastes half of the
# chip still reaches 100 %. [paper-figures.ipynb](paper-figures.ipynb) shows the paper's figures
# on a reconstruction of its machine and on four H200.
#
# **Sources.** Setoguchi & Narumi (formulas and findings). DS-CUDA package 1.0.9, Japanese user
# guide, section "measured performance" (all figures).
