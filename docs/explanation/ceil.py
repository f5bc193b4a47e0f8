"""Plot of explanation/ceil.md: the steps of T_gpu, and what a second GPU gains."""

import matplotlib.pyplot as plt
import numpy as np

from gpucast import _core

K, CORES, T_GPU = 4, 2304, 7e-12
n = np.arange(100.0, 46081.0, 20.0)
model = _core.Model("wave", "linear", "star-serial", cores=CORES, integer=K)
values = np.array([T_GPU, 1e-9, 1e-6, 1e-6, 1e10, 1e-6, 1e10])
seconds = {
    gpus: _core.forecast(model, values, np.empty((0, 7)), [], n, np.full_like(n, gpus))[0]
    for gpus in (1.0, 2.0)
}

figure, (times, gain) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for (gpus, time), colour in zip(seconds.items(), ("C0", "C1"), strict=True):
    times.plot(n, 1e3 * time, colour, label=f"{gpus:g} GPU{'s' if gpus > 1 else ''}")
    times.plot(n, 1e3 * n**2 * T_GPU / gpus, colour, ls=":", lw=1)
times.plot([], [], "0.4", ls=":", lw=1, label="without the ceil")
times.set(xlabel="n", ylabel="T_gpu (ms)", xlim=(0, None), ylim=(0, None))
times.legend(frameon=False)
gain.plot(n, seconds[1.0] / seconds[2.0], "C2")
gain.set(xlabel="n", ylabel="speed-up by a second GPU", xlim=(0, None), ylim=(0.9, 2.1))
for axes in (times, gain):
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(range(0, 46081, 9216))
