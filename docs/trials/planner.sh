#!/usr/bin/env bash
# The commands of planner.md, for anybody: gpucast and python3 on PATH, an empty folder, no GPU.
#   mkdir trial && cd trial && bash .../docs/trials/planner.sh 2>&1 | tee transcript.txt

[[ -z $(ls -A | grep -v transcript.txt) ]] || { echo "this folder is not empty" >&2; exit 1; }

try() { # prints a command, what it says, and its exit status
  printf '$ %s\n' "$*"
  timeout 120 "$@"
  printf '[%d]\n' $?
}

cat > make_data.py <<'PYTHON'
"""Tables of made-up step times (formulas of the first trials), as a spreadsheet would keep them."""
import math, random


def gmx(n, N):
    per = n / N
    return 0.16e-3 + 6.3e-9 * per + (N > 1) * (0.09e-3 + 0.02e-3 * N + 0.066e-6 * per ** (2 / 3) + 0.35e-9 * n)


def lmp(n, N):
    per = n / N
    return 0.11e-3 + 2.6e-9 * per + (N > 1) * (0.05e-3 * math.log2(N) + 0.10e-6 * per ** (2 / 3))


def pairs(n, N):
    return 20e-6 + 1e-12 * n * n / N + 9e-9 * n + N * (12e-6 + 16 * n / 20e9)


def de(x, digits):  # 1234567.8 -> 1.234.567,8
    return f"{x:,.{digits}f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def rows(f, sizes, seed=7, counts=(1, 2, 4)):
    random.seed(seed)
    for n in sizes:
        for N in counts:
            for run in (1, 2, 3):
                yield n, N, run, f(n, N) * (1 + random.gauss(0, 0.012))


GMX, LMP = (24000, 96000, 409000, 1067000), (32000, 256000, 864000, 2048000)
with open("messungen.csv", "w", encoding="cp1252", newline="") as f:  # as Excel writes it in Germany
    f.write("# Messungen Membran, Juni, Zeitschritt 2 fs;;;;;;\r\n")
    f.write("System;Atome;GPUs;Lauf;ns/Tag;ms/Schritt;Bemerkung\r\n")
    for n, N, run, t in rows(gmx, GMX):
        f.write(f"Membran;{de(n, 0)};{N};{run};{de(86400 / t * 2e-6, 1)};{de(t * 1e3, 3)};"
                f"{'große Box' if n > 1e6 and run == 1 else ''}\r\n")
    f.write("Membran;3.000.000;1;1;;;Speicher voll\r\n")
with open("lammps.csv", "w") as f:  # the same people, another machine: English, microseconds
    f.write("atoms;gpus;us/step\n")
    for n, N, run, t in rows(lmp, LMP):
        f.write(f"{n};{N};{de(t * 1e6, 1)}\n")
with open("paare.csv", "w") as f:
    f.write("n,gpus,seconds\n")
    for n, N, run, t in rows(pairs, (2000, 8000, 32000, 128000), seed=3):
        f.write(f"{n},{N},{t:.9g}\n")
with open("wide.csv", "w", encoding="utf-8-sig") as f:
    f.write("Atome;1 GPU;2 GPUs;4 GPUs\n")
    for n in GMX:
        f.write(f"{de(n,0)};" + ";".join(de(gmx(n, N) * 1e3, 3) for N in (1, 2, 4)) + "\n")
PYTHON
python3 make_data.py
iconv -f cp1252 -t utf-8 messungen.csv > m.csv

try gpucast import messungen.csv --timestep 2fs -o gmx.jsonl
try gpucast import m.csv --timestep 2fs -o gmx.jsonl
try gpucast import m.csv --columns n=Atome --timestep 2fs -o gmx.jsonl --force
try gpucast import m.csv --columns n=Atome,rate=ns/Tag --timestep 2fs -o wrong.jsonl
try gpucast import m.csv --columns n=Atome,seconds=ms/Schritt:ms --unit Atome --timestep 2fs --program GROMACS -o gmx.jsonl --force
try gpucast import wide.csv --columns 'n=Atome,seconds=*:ms' -o wide.jsonl
try gpucast import lammps.csv --program LAMMPS -o lmp.jsonl
for each in gmx lmp; do
  try gpucast fit "$each.jsonl" -o "$each.json"
  try gpucast predict "$each.json" -n 24000,1067000,3e6 --gpus 1,2,4,8,16
done
try gpucast predict gmx.json -n 24000,96000 --gpus 1,2,4,8 --best
try gpucast validate gmx.json gmx.jsonl
try gpucast fit paare.csv -o paare.json

cat > plan.yaml <<'YAML'
currency: EUR
machines:
  - name: cluster
    gpus: 8
    price_per_gpu_hour: 2.5
jobs:
  - name: membrane
    n: 3e6
    ns: 100
    timestep_fs: 2
    deadline: 4d
YAML
cat > lplan.yaml <<'YAML'
machines: [{name: cluster, gpus: 8, price_per_gpu_hour: 2.5}]
jobs: [{name: melt, n: 3e6, steps: 1e8, deadline: 3d}]
YAML
try gpucast plan plan.yaml gmx.json
try gpucast plan lplan.yaml lmp.json
for gpus in 16 20 24 28 32; do
  sed "s/gpus: 8/gpus: $gpus/; s/ns: 100/ns: 500/; s/deadline: 4d/deadline: 30d\n    count: 10/; s/^jobs/window: 30d\njobs/" plan.yaml > campaign.yaml
  try gpucast plan campaign.yaml gmx.json
done
for wrong in 'deadline: 4 days' 'deadline: 2026-12-31' 'n: 3M' 'n: 3.000.000'; do
  sed "s/^    ${wrong%%:*}:.*/    $wrong/" plan.yaml > wrong.yaml
  try gpucast plan wrong.yaml gmx.json
done
sed 's/price_per_gpu_hour/price/' plan.yaml > wrong.yaml
try gpucast plan wrong.yaml gmx.json
try gpucast plan plan.yaml gmx.jsonl
try gpucast predict m.csv -n 3e6
try gpucast predict gmx.json -n 3M
try gpucast predict gmx.json -n 3e6 --gpus 1..8
try gpucast report gmx.json --data gmx.jsonl -o gmx.html
try gpucast report gmx.json --data gmx.jsonl -n 24000..3e6 --gpus 1-16 -o big.html
# By hand: open gmx.html; set n 3000000, steps 50000000, deadline 4 days, price 2.5, at most 8 GPUs.
# By hand: gpucast serve --open, then load messungen.csv and m.csv.
