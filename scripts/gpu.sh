#!/usr/bin/env bash
# Builds the two programs on a GPU machine, checks them there and measures with them.
#
#   scripts/gpu.sh build FOLDER       without fit and tests, for this machine's GPUs
#   scripts/gpu.sh check FOLDER       gates, copies, forces, bytes, trajectories, on all GPUs
#   scripts/gpu.sh transfers FOLDER   gpucast-microbench: the whole suite, in a minute
#   scripts/gpu.sh runs FOLDER        the same cells in 20 fresh runs, for benchmarks/transfer_intervals.py
#   scripts/gpu.sh waits FOLDER       what a copy waits for behind a kernel (docs/copy-waits.md)
#   scripts/gpu.sh sanitize FOLDER    under compute-sanitizer, all four tools
#   scripts/gpu.sh throughput FOLDER  pairs a second of the kernels, beside OpenMM where Python has it;
#                                     instructions a pair
#   scripts/gpu.sh steps FOLDER       step times over n, GPUs, schedules and kernels (a few minutes)
#   scripts/gpu.sh mpi FOLDER         the same with a process a GPU
#   scripts/gpu.sh large FOLDER       a million particles on 1 GPU to all of them
#   scripts/gpu.sh remote FOLDER      servers on loopback: checks, trajectories, costs, beside native runs
#
# Output goes to FOLDER. The programs lie in build/gpu/mdapp and build/gpu/microbench. Headers of CLI11 and
# nlohmann/json that the system lacks may lie in GPUCAST_HEADERS.

set -euo pipefail
cd "$(dirname "$0")/.."

readonly program=build/gpu/mdapp/gpucast-mdapp
readonly microbench=build/gpu/microbench/gpucast-microbench
readonly all="build, check, sanitize, transfers, runs, waits, throughput, steps, mpi, large or remote"
readonly what=${1:?$all}
readonly out=${2:?folder for the output}
mkdir -p "$out"

gpus() { nvidia-smi --list-gpus | wc -l; }

# NCCL comes with many Python environments; the loader does not look there.
find_nccl() {
  [[ -n "${GPUCAST_NCCL:-}" ]] && return
  ldconfig -p | grep -q 'libnccl\.so\.2' && return
  GPUCAST_NCCL=$(find / -name 'libnccl.so.2' -not -path '/proc/*' -print -quit 2>/dev/null) || true
  export GPUCAST_NCCL
}

build() {
  cmake -S . -B build/gpu -G Ninja -DGPUCAST_FIT=OFF -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CUDA_ARCHITECTURES=native ${GPUCAST_HEADERS:+-DCMAKE_INCLUDE_PATH="$GPUCAST_HEADERS"} \
    >"$out/configure.log"
  cmake --build build/gpu --target gpucast-mdapp gpucast-microbench >"$out/build.log" || {
    grep -E 'error|FAILED' "$out/build.log" >&2
    return 1
  }
}

check() {
  "$microbench" check --engine cuda >"$out/check-microbench.txt" || {
    grep FAILED "$out/check-microbench.txt" >&2
    return 1
  }
  tail -n 1 "$out/check-microbench.txt"
  "$program" check --engine cuda >"$out/check.txt" || {
    grep FAILED "$out/check.txt" >&2
    return 1
  }
  tail -n 1 "$out/check.txt"
}

sanitize() {
  local tool
  echo "== memcheck, gpucast-microbench"
  # Running out of memory and gates that time out are among what it checks.
  compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 3 \
    "$microbench" check --engine cuda | grep -E 'SUMMARY|passed'
  # initcheck makes copies block: behind a gate they would wait for ever.
  local what
  for tool in racecheck initcheck; do
    what=launches,overlap,host-memory
    [[ "$tool" == initcheck ]] && what=launches,host-memory || what+=,transfers
    echo "== $tool, gpucast-microbench"
    compute-sanitizer --tool "$tool" --error-exitcode 3 "$microbench" measure --engine cuda \
      --devices 0 --memory pinned,mapped --largest 64 --loop-bytes 4096 --interval 1 --fresh 0 \
      --what "$what" --budget 0 --quiet -o "$out/sanitize.jsonl" --force | grep SUMMARY
  done
  for tool in memcheck racecheck initcheck synccheck; do
    echo "== $tool"
    sanitized "$tool" --kernel claret,tuned --schedule star-serial,star-async --energy
    sanitized "$tool" --kernel tuned --schedule star-async --boundary dsf --energy
    sanitized "$tool" --kernel tuned --schedule star-async --boundary minimum-image --energy
    # racecheck loses track of graphs on several GPUs, and counts that as a hazard.
    [[ "$tool" == racecheck ]] || sanitized "$tool" --kernel claret --schedule star-async --graph
  done
  # NCCL meets errors of calls on its way and handles them; initcheck and synccheck take minutes
  # over it.
  for tool in memcheck racecheck; do
    echo "== $tool, allgather"
    sanitized "$tool" --kernel claret --schedule allgather --integrator verlet
    sanitized "$tool" --kernel tuned --schedule allgather --integrator nose-hoover
  done
}

# sanitized TOOL ARGUMENTS...: a few steps of small systems
sanitized() {
  local options=(--error-exitcode 3)
  [[ "$1" != memcheck ]] || options+=(--report-api-errors no)
  compute-sanitizer --tool "$1" "${options[@]}" \
    "$program" measure --engine cuda --n 5,216,997 --gpus "1-$(gpus)" --steps 2 --warm-up 0 \
    --quiet "${@:2}" -o "$out/sanitize.jsonl" --force | grep SUMMARY
}

transfers() {
  local begin=$SECONDS
  "$microbench" topology --engine cuda >"$out/topology.json"
  "$microbench" measure --engine cuda --budget 55 --quiet -o "$out/transfers.jsonl" --force \
    >"$out/transfers.txt"
  echo "$((SECONDS - begin)) s"
}

runs() {
  local run
  for run in $(seq 20); do
    "$microbench" measure --engine cuda --devices 0 --memory pinned,pageable \
      --what transfers,launches --largest 1048576 --budget 30 --interval 0.02 --quiet \
      --machine h200 -o "$out/run$run.jsonl" --force >/dev/null
  done
  for run in $(seq 6); do
    "$microbench" measure --engine cuda --what transfers,concurrent --memory pinned --budget 20 \
      --fresh 0 --quiet --machine h200 -o "$out/large$run.jsonl" --force >/dev/null
  done
}

waits() {
  local nvcc
  nvcc=$(scripts/nvcc.sh) || { echo "$0: no CUDA compiler" >&2; return 1; }
  "$nvcc" -std=c++20 -O2 -arch=native -I devices/include benchmarks/copy_waits.cu \
    -o "$out/copy_waits"
  "$out/copy_waits" >"$out/copy-waits.csv"
}

throughput() {
  python3 benchmarks/mdapp_pairs.py --program "$program" --gpus "1-$(gpus)" \
    --json "$out/pairs.json" | tee "$out/pairs.txt"
}

steps() {
  "$program" measure --engine cuda --n 216,512,1000,1728,4096,8000,13824,32768,64000 \
    --gpus "1-$(gpus)" --schedule star-serial,star-async,allgather --memory pageable,pinned \
    --kernel claret,tuned --max-time 0.5 --warm-up 0.03 -o "$out/steps.jsonl" --force
}

large() {
  "$program" measure --engine cuda --n 1048576 --gpus "1-$(gpus)" --kernel tuned \
    --schedule star-serial,star-async,allgather --memory pinned --steps 6 --warm-up 0.01 \
    -o "$out/large.jsonl" --force
}

mpi() {
  mpirun --allow-run-as-root --oversubscribe -np "$(gpus)" \
    "$program" measure --engine cuda --n 216,512,1000,1728,4096,8000,13824,32768,64000 \
    --gpus "1-$(gpus)" --schedule mpi --kernel claret,tuned --max-time 0.5 --warm-up 0.03 \
    -o "$out/mpi.jsonl" --force
}

# Needs Asio's headers (GPUCAST_HEADERS may hold them).
remote() {
  cmake --build build/gpu --target gpucast-mdapp gpucast-microbench gpucast-gpu-server \
    gpucast_cudart gpucast-remote-probe >"$out/build-remote.log" || {
    grep -E 'error|FAILED|unknown target' "$out/build-remote.log" >&2
    grep 'remote GPUs' "$out"/configure.log >&2
    return 1
  }
  local status=0
  python3 benchmarks/remote.py --build build/gpu -o "$out" | tee "$out/remote.txt" || status=$?
  python3 benchmarks/remote_soak.py --build build/gpu -o "$out" --gpus "$(gpus)" --connects 200 \
    --seconds 30 | tee "$out/remote-soak.txt" || status=$?
  return "$status"
}

find_nccl
case "$what" in
  build | check | sanitize | transfers | runs | waits | throughput | steps | mpi | large | remote) "$what" ;;
  *) echo "$0: $what: $all" >&2; exit 2 ;;
esac
