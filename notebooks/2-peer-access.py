# %% [markdown]
# # From GPU to GPU: through the host, or straight?
#
# **Source document 2**: HPC Systems Inc., "GPUDirect ni yoru Peer access no sokudo" (speed of
# peer access with GPUDirect). Two GPUs of one machine exchange 1 byte to 1 GiB in two ways:
# *staged* (down into pinned host memory, then up again) and *peer* (`cudaMemcpyPeer`, over PCI
# Express).
#
# **Question.** Which way is faster, from which size on, and does that still hold a decade
# later?
#
# **Data.** Dataset `p2p-copy`: two machines, one timed call a size. The first call of each
# route carries start-up cost; it is marked as cold and left out. Beside it `h200-transfers`,
# ours: four NVIDIA H200 joined by NVLink.

# %%
# %matplotlib inline
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

import gpucast as gc
from gpucast.paths.series import series_of
from gpucast.show.paper.documents import beside_documents
from gpucast.show.plots.transfers import drawn, transfer_times
from gpucast.util.units import duration, throughput

data = gc.load("p2p-copy")
fits = {(fit.machine, fit.route): fit for fit in gc.fit_transfers(data)}
machines = {"tesla-c2050": "Tesla C2050", "geforce-gtx580": "GeForce GTX 580"}
for machine, name in machines.items():
    curves = drawn(series_of(data.select(machine=machine)))
    display(transfer_times(curves, f"Copies between two {name}: published, and fitted"))

# %% [markdown]
# Points are published, lines the fitted L + bytes/B, with a breakpoint (small stroke) where the
# timings show that large copies run differently: peer copies from 1 MiB on.
#
# ## Latency and throughput

# %%
rows = []
for (machine, route), fit in fits.items():
    large = fit.values[len(fit.breakpoints) + 1]
    rows.append((machines[machine], route, duration(fit.values[0]), throughput(large)))
pd.DataFrame(rows, columns=["GPU", "route", "latency", "large copies"]).set_index(["GPU", "route"])

# %% [markdown]
# ## Which is faster, from which size?
#
# The fitted curves answer for sizes between the measured ones, too.

# %%
sizes = np.geomspace(1, 2**30, 4000)
gain = {
    machine: fits[machine, "staged"].seconds(sizes) / fits[machine, "peer"].seconds(sizes)
    for machine in machines
}
assert (gain["tesla-c2050"] > 1).all()
small = gain["geforce-gtx580"][0]
crossing = sizes[np.flatnonzero(gain["geforce-gtx580"] <= 1)[-1]]
assert small < 1
assert 0.5e6 < crossing < 2e6
assert (gain["geforce-gtx580"][sizes > 1.2 * crossing] > 1).all()
Markdown(
    f"- **Tesla C2050**: peer is faster at every size, {gain['tesla-c2050'][-1]:.2f} times at 1"
    " GiB.\n"
    f"- **GeForce GTX 580**: peer is {(1 / small - 1):.0%} slower when small and faster from"
    f" {crossing / 1e6:.2f} MB up, {gain['geforce-gtx580'][-1]:.2f} times at 1 GiB.\n\n"
    "The document says the same in words: the C2050 gains at every size, the GTX 580 loses a little"
    " when small and gains about 20 % from 1 MB up."
)

# %% [markdown]
# A staged copy crosses the bus twice, one crossing after the other; a peer copy crosses it
# once. Why is peer not twice as fast, then? Because it runs below the rate of either crossing:

# %%
bound = {
    m: fits[m, "staged"].seconds(sizes)[-1] / 2 / fits[m, "peer"].seconds(sizes)[-1]
    for m in machines
}
assert all(0.5 < ratio < 0.75 for ratio in bound.values())
Markdown(
    "Of the rate of one crossing, large peer copies reach "
    + " and ".join(f"{100 * bound[m]:.0f} % ({name})" for m, name in machines.items())
    + "."
)

# %% [markdown]
# ## The same on four H200

# %%
beside = [
    row
    for row in beside_documents(gc.load("h200-transfers"), ["p2p-copy"])
    if row.machine == "tesla-c2050"
]
table = pd.DataFrame(
    {
        "bytes": row.bytes,
        "route": row.what.split()[0],
        "C2050": row.published,
        "H200": row.own,
    }
    for row in beside
).pivot(index="bytes", columns="route")
shown = table.loc[[2, 1024, 2**20, 2**24]]
display(shown.map(duration, na_action="ignore").fillna("-"))
both = table.dropna()
now = both["H200", "staged"] / both["H200", "peer"]
assert (now > 1).all()
largest = now.index[-1]
Markdown(
    f"Peer wins at every size that both were measured at: {now.iloc[0]:.1f} times at"
    f" {now.index[0]} bytes, {now.iloc[-1]:.0f} times at {largest / 2**20:.0f} MiB. What was a"
    " question of 20 % is none with a link of its own between GPUs."
)

# %% [markdown]
# ## Caveats
#
# One timed call a size, rounded to 1 us: below 10 KB the published times are all latency. The
# document timed with `gettimeofday` around the call; ours are calls, too. On H200 a staged copy
# crosses PCI Express twice and a peer copy takes NVLink, so the two do not share a bus as they
# did.
#
# **Sources.** HPC Systems Inc., Total Disclosure Site (times). `h200-transfers` (ours):
# `gpucast data show h200-transfers`.
