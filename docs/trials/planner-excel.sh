#!/usr/bin/env bash
# The second part of planner.md, Excel files and native or remote; as planner.sh, with openpyxl.
#   mkdir trial && cd trial && bash .../docs/trials/planner-excel.sh 2>&1 | tee transcript.txt

[[ -z $(ls -A | grep -v transcript.txt) ]] || { echo "this folder is not empty" >&2; exit 1; }

try() { # prints a command, what it says, and its exit status
  printf '$ %s\n' "$*"
  timeout 120 "$@"
  printf '[%d]\n' $?
}

cat > make_books.py <<'PYTHON'
"""Workbooks as people keep them; times of planner.sh's GROMACS-like formula."""
import datetime
import random

import openpyxl


def seconds(n, N):
    per = n / N
    return 0.16e-3 + 6.3e-9 * per + (N > 1) * (0.09e-3 + 0.02e-3 * N + 0.066e-6 * per ** (2 / 3) + 0.35e-9 * n)


def measured():
    random.seed(7)
    for n in (24000, 96000, 409000, 1067000):
        for N in (1, 2, 4):
            for run in (1, 2, 3):
                yield n, N, run, seconds(n, N) * (1 + random.gauss(0, 0.012))


plain = openpyxl.Workbook()
plain.active.append(["atoms", "GPUs", "ms/step"])
for n, N, run, t in measured():
    plain.active.append([n, N, t * 1e3])
plain.save("plain.xlsx")

book = openpyxl.Workbook()  # notes first, a title above the table, merged cells, a formula, a date
book.active.title = "Notizen"
book.active["A1"] = "Messungen für den Antrag; Tabelle auf dem zweiten Blatt"
sheet = book.create_sheet("Messungen")
sheet.merge_cells("A1:G1")
sheet["A1"] = "Membran, Zeitschritt 2 fs"
sheet.append([])
sheet.append(["System", "atoms", "GPUs", "Datum", "ms/step", "ns/day", "Bemerkung"])
for n, N, run, t in measured():
    row = sheet.max_row + 1
    sheet.append(["Membran", n, N, datetime.date(2026, 6, 1), t * 1e3, f"=86.4*2/E{row}/1000", None])
sheet.append(["Membran", 3000000, 1, None, None, None, "Speicher voll"])
book.save("book.xlsx")

formulas = openpyxl.Workbook()  # never opened in Excel since: no computed values are kept
formulas.active.append(["atoms", "GPUs", "seconds"])
for n, N, run, t in measured():
    formulas.active.append([n, N, f"={t * 1e3}/1000"])
formulas.save("formulas.xlsx")

paths = openpyxl.Workbook()  # the same, natively and in the pool: half a kernel call's latency more
paths.active.append(["atoms", "GPUs", "path", "ms/step"])
for n, N, run, t in measured():
    paths.active.append([n, N, "native", t * 1e3])
    if N < 4:
        paths.active.append([n, N, "remote", 1e3 * (t + N * 60e-6 + 4e-10 * n)])
paths.save("paths.xlsx")
open("old.xls", "wb").write(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504))
PYTHON
python3 make_books.py

try gpucast import plain.xlsx -o plain.jsonl
try gpucast import book.xlsx -o book.jsonl
try gpucast import book.xlsx --sheet Messungen -o again.jsonl
try gpucast import formulas.xlsx -o formulas.jsonl
try gpucast import old.xls -o old.jsonl
try gpucast import paths.xlsx --program GROMACS --timestep 2fs -o paths.jsonl
try gpucast fit plain.xlsx -o plain.json
try gpucast predict plain.json -n 24000,3e6 --gpus 1,2,4,8 --best

# Native GPUs, or those of the pool?
try gpucast fit paths.jsonl -o both.json
try gpucast fit paths.jsonl --path native -o native.json
try gpucast fit paths.jsonl --path remote -o pool.json
try gpucast compare native.json pool.json -n 24000,1067000,3e6 --gpus 1,2,4
cat > plan.yaml <<'YAML'
currency: EUR
machines:
  - {name: own, model: native.json, gpus: 4, price_per_gpu_hour: 2.50}
  - {name: pool, model: pool.json, gpus: 8, price_per_gpu_hour: 1.20}
jobs:
  - {name: membrane, n: 3000000, ns: 100, timestep_fs: 2, deadline: 6d}
YAML
try gpucast plan plan.yaml
try gpucast what-if native.json --transfers h200-x4 --path remote -o whatif.json
