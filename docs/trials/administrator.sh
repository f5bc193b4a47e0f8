#!/usr/bin/env bash
# The commands of administrator.md, for anybody: gpucast on PATH, an empty folder, no GPU, some three minutes.
#   mkdir trial && cd trial && bash .../docs/trials/administrator.sh 2>&1 | tee transcript.txt
# Ports 9810 and 9811 of 127.0.0.1 are used. Only processes that it starts are ended.

[[ -z $(ls -A | grep -v transcript.txt) ]] || { echo "this folder is not empty" >&2; exit 1; }

say() { printf '\n== %s\n' "$*"; }
try() { # prints a command, what it says, and its exit status
  printf '$ %s\n' "$*"
  timeout 120 "$@"
  printf '[%d]\n' $?
}
pids=()
trap 'for each in "${pids[@]}"; do kill "$each" 2>/dev/null; done' EXIT
serve() { # log, options: a rehearsed server in the background
  gpucast remote serve --fake "${@:2}" >"$1" 2>&1 &
  pids+=($!)
  disown
  sleep 2
  cat "$1"
}
servers=127.0.0.1:9810,127.0.0.1:9811

say "what is here"
try gpucast --version
try gpucast doctor
for each in gpucast-mdapp gpucast-microbench gpucast-gpu-server; do try "$each" --version; done

say "help of every command"
for each in "" data "data list" "data show" "data export" "data compare" "data contention" import measure trace \
  "trace record" "trace show" "trace export" "trace import" "trace calls" fit predict compare what-if plan \
  validate figures report serve remote "remote serve" "remote run" "remote check" "remote status" doctor; do
  gpucast $each --help >help.txt && gpucast $each -h >/dev/null || echo "no help: gpucast $each"
  head -n 1 help.txt
done
for each in "mdapp measure" "mdapp simulate" "mdapp forces" "mdapp check" "mdapp throughput" "microbench measure" \
  "microbench exercise" "microbench skeleton" "microbench topology" "microbench check" gpu-server; do
  gpucast-$each --help >help.txt && gpucast-$each -h >/dev/null || echo "no help: gpucast-$each"
  grep -m1 Usage help.txt
done

say "exit statuses of mistakes: 2 each"
for each in nosuch fit "fit nosuch.jsonl -o x.json" remote trace data "plan nosuch.yaml" measure \
  "measure --budgett 5s" "measure --paths host --budget fast -o x.jsonl" "doctor extra" "serve --port 99999"; do
  gpucast $each >/dev/null 2>said.txt
  printf '[%d] gpucast %s: %.110s\n' $? "$each" "$(cat said.txt)"
done

say "serving: refusals"
head -c 32 /dev/urandom | base64 >secret && chmod 600 secret
head -c 32 /dev/urandom | base64 >other && chmod 600 other
try gpucast remote serve --gpus all
try gpucast remote serve --gpus 0
try gpucast-gpu-server --gpu 5 --listen 127.0.0.1:9711
try gpucast remote serve --fake --gpus 0 --host 0.0.0.0
try gpucast remote serve --fake --gpus 0 --socket-folder not-there

say "serving: a rehearsal"
serve serve.log --gpus 0,1 --port 9810 --secret-file secret
try gpucast remote serve --fake --gpus 0 --port 9810 --secret-file secret
try gpucast remote check $servers --secret-file secret
try gpucast remote status $servers --secret-file secret
try gpucast remote check $servers --secret-file other
try gpucast remote check $servers,127.0.0.1:9899 --secret-file secret
try gpucast remote check $servers --plain --secret-file secret
GPUCAST_REMOTE=127.0.0.1:9899 try gpucast doctor

say "running"
try gpucast remote run --gpus $servers --secret-file secret -- \
  gpucast-mdapp measure --n 1000 --gpus 1-2 --schedule star-async --kernel tuned --max-time 0.3 -o run.jsonl
grep -o '"path":"[a-z]*"' run.jsonl | sort | uniq -c
try gpucast remote run --gpus $servers --secret-file other -- gpucast-microbench topology
try gpucast remote run --gpus 127.0.0.1:9899 --secret-file secret -- gpucast-mdapp measure --n 1000 -o dead.jsonl
ls dead.jsonl
try gpucast remote run --gpus $servers --secret-file secret -- nosuch

say "measuring over servers"
two=127.0.0.1:9810+127.0.0.1:9811
try gpucast measure --paths remote=$two --secret-file secret --budget 6s --quiet -o remote.jsonl
try gpucast measure --paths remote=$two --secret-file other --budget 6s --quiet -o wrong.jsonl
try gpucast measure --paths remote=127.0.0.1:9899 --secret-file secret --budget 6s --quiet -o dead.jsonl
(sleep 4; kill -KILL "${pids[0]}") &
try gpucast measure --paths remote=$two,host --secret-file secret --budget 12s --quiet -o killed.jsonl
try gpucast remote check $servers --secret-file secret

say "measuring this machine"
try gpucast measure --paths host --budget 15s --quiet -o host.jsonl
try gpucast measure --paths host --gpus 1,99 --n 216,512 --schedule star-serial --kernel tuned --no-transfers --quiet -o few.jsonl
try gpucast measure --paths host --n 216 --gpus 1 --schedule star-serial --kernel tuned --no-transfers --quiet -o one.jsonl
printf '$ gpucast measure ... -o stopped.jsonl, and Ctrl-C\n'
timeout --preserve-status -s INT 7 gpucast measure --paths host --kernels claret -n 512..2048:4 --no-transfers -o stopped.jsonl
printf '[%d]\n' $?
try gpucast measure --paths host --kernels claret -n 512..2048:4 --no-transfers --quiet -o stopped.jsonl
try gpucast measure --paths host --budget 5s --quiet -o /dev/full
echo "a shopping list" >foreign.txt
try gpucast measure --paths host --budget 5s --quiet -o foreign.txt
try gpucast fit host.jsonl -o host.json

say "a program on processor cores"
cat >heat.py <<'END'
import sys, time
from concurrent.futures import ProcessPoolExecutor

def work(cells):
    total = 0.0
    for cell in range(cells):
        total += cell * 0.5
    return total

if __name__ == "__main__":
    n, cores = int(float(sys.argv[1])), int(sys.argv[2])
    with ProcessPoolExecutor(cores) as pool:
        for step in range(6):
            start = time.perf_counter()
            list(pool.map(work, [n // cores] * cores))
            print(f"step {step}: {(time.perf_counter() - start) * 1e3:.4f} ms", flush=True)
    print("finished")
END
cat >heat.yaml <<'END'
program: heat
unit: cells
path: host
command: [python3, heat.py, "{n}", "{gpus}"]
files: [heat.py]
sizes: [100000, 400000, 1600000]
gpus: [1, 2]
result: {regex: '(?P<time>[0-9.]+) ms', unit: ms, skip: 1}
success: finished
END
try gpucast measure --program heat.yaml --dry-run
printf '$ gpucast measure --program heat.yaml --visits 3 -o heat.jsonl, and Ctrl-C\n'
timeout --preserve-status -s INT 3 gpucast measure --program heat.yaml --visits 3 -o heat.jsonl
printf '[%d]\n' $?
try gpucast measure --program heat.yaml --visits 3 --quiet -o heat.jsonl
try gpucast measure --program heat.yaml --visits 3 --quiet -o heat.jsonl
try gpucast measure --program heat.yaml --visits 4 --dry-run -o heat.jsonl
try gpucast measure --program heat.yaml --budget 4s --quiet -o budget.jsonl
try gpucast measure --program heat.yaml --slurm="--partition=gpu --time=1:00:00" --dry-run
sed 's/finished$/done/' heat.yaml >bad.yaml
try gpucast measure --program bad.yaml -n 100000 --gpus 1 --quiet -o bad.jsonl
sed 's/gpus:/gpu:/' heat.yaml >bad.yaml
try gpucast measure --program bad.yaml --quiet -o bad.jsonl
gpucast fit heat.jsonl -o heat.json >/dev/null
try gpucast predict heat.json -n 1.6e6 --gpus 1-4

say "steps that a second device does not shorten (made-up times)"
cat >flat.csv <<'END'
n,gpus,seconds
100000,1,0.0034
100000,2,0.0035
400000,1,0.0126
400000,2,0.0130
1600000,1,0.0500
1600000,2,0.0503
END
try gpucast fit flat.csv -o flat.json
try gpucast predict flat.json -n 1.6e6 --gpus 1-4

say "steps of gpucast's own program that a second device shortens at some sizes only (made-up times)"
cat >both.csv <<'END'
n,gpus,seconds
216,1,0.0000214
216,1,0.0000215
216,2,0.0000199
216,2,0.0000200
512,1,0.0000759
512,1,0.0000760
512,2,0.0000498
512,2,0.0000500
1000,1,0.0003069
1000,1,0.0003075
1000,2,0.0003053
1000,2,0.0003056
END
gpucast import both.csv --schedule star-serial --kernel tuned -o both.jsonl >/dev/null
gpucast fit both.jsonl -o both.json >/dev/null
try gpucast predict both.json -n 512,1000 --gpus 1-2

say "completion"
export HOME=$PWD/home SHELL=/bin/bash
mkdir -p home
try gpucast --install-completion
complete() { # a line whose last word is to be completed
  local words=($1)
  printf '%s -> ' "$1"
  COMP_WORDS=$1 COMP_CWORD=${2:-$((${#words[@]} - 1))} _GPUCAST_COMPLETE=complete_bash gpucast | tr '\n' ' '
  echo
}
complete "gpucast re"
complete "gpucast remote s"
complete "gpucast predict --interval " 3
complete "gpucast measure --sch"
complete "gpucast measure --kernels " 3
