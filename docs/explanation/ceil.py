"""Plot of explanation/ceil.md: the steps of T_gpu, and what a second GPU gains."""

import matplotlib.pyplot as plt
import numpy as np

import gpucast as gc

T_GPU = 7e-12
n = np.arange(100.0, 46081.0, 20.0)
others = {
    "t_cpu": 1e-9,
    "t_kernel": 1e-6,
    "L_h2d": 1e-6,
    "B_h2d": 1e10,
    "L_d2h": 1e-6,
    "B_d2h": 1e10,
}
table = gc.step_times(
    "wave+linear+star-serial", {"t_gpu": T_GPU, **others}, n, [1, 2], cores=2304, k=4
)
seconds = {gpus: rows.t_gpu.to_numpy() for gpus, rows in table.groupby("gpus")}

figure, (times, gain) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for (gpus, time), colour in zip(seconds.items(), ("C0", "C1"), strict=True):
    times.plot(n, 1e3 * time, colour, label=f"{gpus:g} GPU{'s' if gpus > 1 else ''}")
    times.plot(n, 1e3 * n**2 * T_GPU / gpus, colour, ls=":", lw=1)
times.plot([], [], "0.4", ls=":", lw=1, label="without the ceil")
times.set(xlabel="n", ylabel="T_gpu (ms)", xlim=(0, None), ylim=(0, None))
times.legend(frameon=False)
gain.plot(n, seconds[1] / seconds[2], "C2")
gain.set(xlabel="n", ylabel="speed-up by a second GPU", xlim=(0, None), ylim=(0.9, 2.1))
for axes in (times, gain):
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(range(0, 46081, 9216))
