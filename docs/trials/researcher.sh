#!/usr/bin/env bash
# The commands of researcher.md; gpucast on PATH, an empty folder as the current one.
set -u
gpucast data list
gpucast figures paper h200-x4 -o figs || echo "figures paper failed, $?"
gpucast figures paper h200-x4 --model none -o points
taskset -c 0 gpucast figures paper h200-x4 -o one-core
gpucast figures gflops h200-x4 --path native -o gf
gpucast fit h200-x4 --path native --schedule star-serial --kernel claret --memory pageable -o native.json
cat > api.py <<'P'
import pickle

import pandas as pd

import gpucast as gc

frame = pd.DataFrame(
    [(n, g, 1e-4 + n / g * 2.6e-9 + (g > 1) * 5e-5 * g)
     for n in (32000, 256000, 864000, 2048000) for g in (1, 2, 4)],
    columns=["atoms", "gpus", "seconds"],
)
print(repr(gc.read(frame)))
model = gc.fit(frame)
print(repr(model))
print(model.forecast(n=[1e6], gpus=[1, 4, 8]))
print(model.best(n=32000, gpus=range(1, 5)))
print(len(repr(gc.load("h200-x4"))), len(repr(gc.load_model("native.json"))))
for wrong in (lambda: gc.fit(frame.rename(columns={"atoms": "foo"})), lambda: gc.load("nix.csv")):
    try:
        wrong()
    except gc.InputError as error:
        print(error)
try:
    pickle.dumps(gc.load_model("native.json"))
    print("a model can be pickled")
except TypeError as error:
    print("a model cannot be pickled:", error)
P
python3 api.py    # the Python that gpucast is installed in
