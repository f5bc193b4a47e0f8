# %% [markdown]
# # From a CSV of your own timings to a plan
#
# You have a program that runs on several GPUs, and a few timings of it. **How many GPUs should
# a run of n particles get?** This page goes all the way: import, fit, what is known and what is
# not, forecast, the best count, the cost.
#
# All it takes is a table with three columns: how many particles (or grid points, or rows:
# whatever the work grows with), how many GPUs, and the time of one step (or ns/day, or steps a
# second). Columns are known by their usual names. Repeated rows are repetitions; three a cell are
# enough to tell noise from the model's error.

# %%
# %matplotlib inline
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import Markdown, display

import gpucast as gc
from gpucast.show.plots.step_series import series_of
from gpucast.show.plots.steps import step_times
from gpucast.util.units import duration

print("".join(Path("timings.csv").read_text().splitlines(keepends=True)[:8]))

# %% [markdown]
# The example is real: a molten-salt MD program on one and two NVIDIA H200. Its steps on three
# and four GPUs and in between are known, too (dataset `h200-x4-mixed`), but we hide them, to see at
# the end how good the forecasts were.
#
# ## 1. Read
#
# `gc.read` takes files and data frames (in a terminal: `gpucast import`), and says what it
# understood. This program moves its data as the paper's does: all positions to one GPU after the
# other, forces back. That is the schedule `star-serial`; for a program of which you know no more
# than its step times, leave it out. Say how many cores (FP32 lanes) and
# multiprocessors it has and how many threads your kernel's blocks have: then gpucast can see waves
# of blocks in your step times.

# %%
known = {"schedule": "star-serial", "kernel": "claret", "cores": 16896, "sms": 132, "block": 256}
steps = gc.read("timings.csv", **known)
display(steps)

# %% [markdown]
# ## 2. Fit
#
# gpucast tries several forms of each term and averages over those that the times make plausible.

# %%
first = gc.fit(steps)
forms = pd.DataFrame(
    {candidate.model: (candidate.weight, candidate.cv_error) for candidate in first.candidates},
    index=["weight", "error of cells left out"],
).T
display(forms.head(4).map("{:.1%}".format))
Markdown(f"Parameters are those of **{first.chosen}**.")

# %% [markdown]
# ## 3. What is known, and what is not
#
# Step times alone never tell everything: a latency and a launch cost, for one, always come
# together. gpucast gives no value to such parameters. It says which sums are known.

# %%
hidden = [name for name, parameter in first.parameters.items() if not parameter.identified]
together = [combination.expression for combination in first.combinations]
assert hidden
assert together
Markdown(
    f"Not known alone: {', '.join(f'`{name}`' for name in hidden)}."
    f" Known together: {', '.join(f'`{expression}`' for expression in together)}."
)

# %% [markdown]
# Does that matter? Not for forecasts with the same communication: there only the sums count. It
# does if you want to know what another network, or remote GPUs, would do (`gpucast what-if`).
# Then add timings of copies, with columns `bytes,seconds,route` (`h2d`: to the GPU, `d2h`:
# back).

# %%
data = gc.read("timings.csv", "transfers.csv", **known)
model = gc.fit(data)
unknown = [name for name, parameter in model.parameters.items() if not parameter.identified]
Markdown(
    f"With copies: **{model.chosen}**, "
    + (f"still not known alone: {', '.join(unknown)}." if unknown else "every parameter is known.")
)

# %% [markdown]
# A model shows itself; what the fit warns of is worth reading:

# %%
display(model)

# %% [markdown]
# ## 4. Forecast
#
# Points are your timings; lines are the model, dashed beyond what you timed; bands are 90 %
# intervals of one measurement.

# %%
step_times(
    series_of(data, [model]),
    [1, 2, 4],
    "One and two GPUs timed, four forecast",
    span=(500, 60_000),
)

# %%
forecast = model.forecast(n=[1000, 10_000, 50_000], gpus=range(1, 5))
shown = forecast[["n", "gpus", "seconds", "low", "high", "extrapolated"]].copy()
shown[["seconds", "low", "high"]] = shown[["seconds", "low", "high"]].map(duration)
shown.set_index(["n", "gpus"])

# %% [markdown]
# ## 5. The best count
#
# `probability` is the share of what the data allow in which that count is the fastest; counts
# within 2 % of the best are named, for you may prefer the smaller.

# %%
best = model.best([1000, 10_000, 30_000, 50_000], gpus=range(1, 5))
best[["n", "gpus", "probability", "within_2_percent", "extrapolated"]].set_index("n")

# %% [markdown]
# ## 6. Was it right?
#
# Now the hidden steps: every size within the timed range that the CSV does not have, and three
# and four GPUs, that it does not have at all.

# %%
truth = gc.load("h200-x4-mixed").select(
    machine="h200-a/native", schedule="star-serial", kernel="claret", memory="pageable"
)
timed = {(step.n, step.gpus) for step in steps.steps}
least, largest = min(timed)[0], max(timed)[0]
cells = pd.DataFrame(gc.validate(model, truth)["cells"])
hidden = [cell not in timed and cell[0] >= least for cell in zip(cells.n, cells.gpus, strict=True)]
errors = cells[hidden].rename(columns={"gpus": "GPUs", "relative_error": "error"})
errors["n"] = np.where(errors.n <= largest, "within the sizes timed", "larger")
summary = errors.error.abs().groupby([errors.n, errors.GPUs]).agg(["size", "median", "max"])
display(
    summary.assign(
        median=summary["median"].map("{:.1%}".format), max=summary["max"].map("{:.0%}".format)
    ).loc[["within the sizes timed", "larger"]]
)
inside = errors[errors.n == "within the sizes timed"]
unseen = inside[inside.GPUs > 2].error.abs()
beyond = errors[errors.n == "larger"].error.abs()
assert unseen.median() < 0.05
assert beyond.median() > 2 * unseen.median()
Markdown(
    f"On three and four GPUs, never timed, the forecasts are {unseen.median():.1%} off in the"
    f" median and {unseen.max():.0%} at most, within the sizes that were timed. Beyond those sizes"
    f" they are {beyond.median():.0%} off in the median and up to {beyond.max():.0%}: timing small"
    " systems does not tell how large ones fill the GPU. That is what the mark *extrapolated* is"
    " for. Time one size above the largest you care about."
)

# %% [markdown]
# ## 7. What it costs
#
# The fastest count is seldom the cheapest. A run of a million steps of 50,000 particles, at a
# price a GPU and hour (put in yours):

# %%
PRICE = 3.0  # a GPU and hour
STEPS = 1e6
run_of = model.forecast(n=50_000, gpus=range(1, 5)).set_index("gpus")
hours = run_of.seconds * STEPS / 3600
costs = pd.DataFrame(
    {
        "hours": hours,
        "from": run_of.mean_low * STEPS / 3600,
        "to (90 %)": run_of.mean_high * STEPS / 3600,
        "cost": hours * run_of.index * PRICE,
    }
)
display(costs.round(2))
fastest, cheapest = costs.hours.idxmin(), costs.cost.idxmin()
assert costs.cost[cheapest] <= costs.cost[fastest]
Markdown(
    f"Fastest: {fastest} GPUs, {costs.hours[fastest]:.2f} hours for {costs.cost[fastest]:.2f}."
    f" Cheapest: {cheapest} GPU, {costs.hours[cheapest]:.2f} hours for {costs.cost[cheapest]:.2f}."
)

# %% [markdown]
# ## 8. The plan
#
# With a deadline, take the cheapest count that meets it with the probability that you ask for.
# `gc.plan` does that for many jobs and several machines, remote ones too (in a terminal:
# `gpucast plan`, [docs/plan.md](../docs/plan.md)).

# %%
DEADLINE = 1.1 * costs.hours[fastest]  # hours
plan = gc.plan(
    {
        "machines": [{"name": "mine", "gpus": 4, "price_per_gpu_hour": PRICE}],
        "jobs": [{"name": "run", "n": 50_000, "steps": STEPS, "deadline": f"{DEADLINE}h"}],
        "probability": 0.9,
    },
    {"mine": model},
)
(job,) = plan.content["jobs"]
advised = job["advised"]
assert job["meets_deadline"]
assert np.isclose(advised["cost"], costs.cost[advised["gpus"]])
Markdown(
    f"Within {DEADLINE:.2f} hours: **{advised['gpus']} GPUs**, {advised['cost']:.2f},"
    f" in time with probability {advised['probability_in_time']:.0%}."
    f" Without the deadline a run costs {job['deadline_cost']:.2f} less."
)

# %% [markdown]
# ## Caveats
#
# A forecast holds for the program, the machine and the communication that were timed. On a
# shared machine, repeat the cells at different times: what is steady for a minute may drift
# over an hour.
#
# **Sources.** `timings.csv` and `transfers.csv` are rows of dataset `h200-x4-mixed` (`gpucast data
# show h200-x4-mixed`).
