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
#   scripts/gpu.sh dataset FOLDER     all of a dataset like h200-x4 on N = 1 to all GPUs, the most important
#                                     first; with the same folder it goes on where it ended (docs/measure.md)
#   scripts/gpu.sh micro|native|tcp-micro|tcp FOLDER   parts of it
#
# Output goes to FOLDER. The programs lie in build/gpu/mdapp and build/gpu/microbench. Headers of CLI11 and
# nlohmann/json that the system lacks may lie in GPUCAST_HEADERS.
#
# Of a dataset: GPUCAST_SECONDS for all of it (3600), GPUCAST_MACHINE the machine's name (the host's),
# GPUCAST_VISITS of each cell (3), GPUCAST_MEASURE further options of gpucast measure, GPUCAST_BUDGET of
# the native microbenchmarks (s), GPUCAST_LARGEST bytes of their largest transfer, GPUCAST what is
# started as gpucast (python3 -m gpucast.cli, of this folder or where PYTHONPATH says first),
# GPUCAST_BUILD a build that is there already: nothing is built, nor checked.

set -euo pipefail
cd "$(dirname "$0")/.."

built=$(realpath -m "${GPUCAST_BUILD:-build/gpu}")
readonly built
readonly program=$built/mdapp/gpucast-mdapp
readonly microbench=$built/microbench/gpucast-microbench
readonly all="build, check, sanitize, transfers, runs, waits, throughput, steps, mpi, large, remote, \
dataset, micro, native, tcp-micro or tcp"
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
  local questions
  for tool in racecheck initcheck; do
    questions=launches,overlap,host-memory
    [[ "$tool" == initcheck ]] && questions=launches,host-memory || questions+=,transfers
    echo "== $tool, gpucast-microbench"
    compute-sanitizer --tool "$tool" --error-exitcode 3 "$microbench" measure --engine cuda \
      --devices 0 --memory pinned,mapped --largest 64 --loop-bytes 4096 --interval 1 --fresh 0 \
      --what "$questions" --budget 0 --quiet -o "$out/sanitize.jsonl" --force | grep SUMMARY
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
build-remote() {
  cmake --build build/gpu --target gpucast-mdapp gpucast-microbench gpucast-gpu-server \
    gpucast_cudart gpucast-remote-probe >"$out/build-remote.log" || {
    grep -E 'error|FAILED|unknown target' "$out/build-remote.log" >&2
    grep 'remote GPUs' "$out"/configure.log >&2
    return 1
  }
}

remote() {
  build-remote
  local status=0
  python3 benchmarks/remote.py --build build/gpu -o "$out" | tee "$out/remote.txt" || status=$?
  python3 benchmarks/remote_soak.py --build build/gpu -o "$out" --gpus "$(gpus)" --connects 200 \
    --seconds 30 | tee "$out/remote-soak.txt" || status=$?
  return "$status"
}

# --- a dataset on all GPUs --------------------------------------------------------------------
#
# On paper, in seconds, from what four H200 took: 0.18 a visit of a cell natively (14 n x 4 N x 3
# series x 3 visits of tuned in 89) and 0.17 remotely (9 n x 4 N x 6 series x 2 visits in 75), 25 to
# build, 22 to 45 for microbenchmarks. Steps of claret of 175616 and 314432 particles take 0.03 to
# 0.2 s each on four GPUs to one, which is counted as 35 a pass on eight.
#
#                                                 2 GPUs, seen  4 GPUs  8 GPUs  limits, 8 GPUs
#   build, build-remote                                40    38     40      40       180 + 120
#   micro      all that the budget of 12 a GPU allows  28    28     52     100             190
#   native     14 n x N x 2 kernels x 4 series         54    68    102     196             340
#   tcp-micro  half the budget                         14    16     26      50             140
#   tcp         9 n x N x 2 kernels x 3 series         19    18     38      75             204
#   native, tcp, native: a second and third visit     127   157    242     467       340+204+340
#   check                                              30    27     40      60             180
#   all                                               312   353    540     988
#
# Seen on two H200 (dataset h200-x2-other). Each native and tcp ends with fits of what it measured,
# some seconds a series: a native visit took 14 s more than on paper for them. Grown in proportion,
# one on eight GPUs stays below its limit.
#
# Visits of all cells come one pass after the other, so that a run that is cut short leaves whole
# passes, native and remote ones. Microbenchmarks of eight devices have more cells for each second
# of their budget than those of four (pairs of copies grow as N^2); those of pairs come last.

dataset() {
  local count status=0
  count=$(gpus)
  begin=$SECONDS
  # Without these there is nothing to measure with; a missing Python is said in the first second.
  gpucast measure --help >/dev/null || return 1
  if [[ -z "${GPUCAST_BUILD:-}" ]]; then
    part 180 build && part 120 build-remote || return 1
  fi
  part $(($(budget "$count") + 90)) micro || status=1
  GPUCAST_VISITS=1 part $((40 * count + 20)) native || status=1
  part $(($(budget "$count") / 2 + 90)) tcp-micro || status=1
  GPUCAST_VISITS=1 part $((23 * count + 20)) tcp || status=1
  local visit
  for visit in $(seq 2 "${GPUCAST_VISITS:-3}"); do
    GPUCAST_VISITS=$visit part $((40 * count + 20)) native || status=1
    # What a host that others share adds shows in two.
    ((visit > 2)) || GPUCAST_VISITS=$visit part $((23 * count + 20)) tcp || status=1
  done
  [[ -n "${GPUCAST_BUILD:-}" ]] || part 180 check || status=1
  join
  return "$status"
}

# part SECONDS COMMAND: this script's own, for so long or what is left of GPUCAST_SECONDS.
part() {
  local left=$((${GPUCAST_SECONDS:-3600} - (SECONDS - begin))) from=$SECONDS status=0
  if ((left <= 0)); then
    echo "$2: no time left"
    return 1
  fi
  # Ends what it started, too: timeout signals its whole group.
  timeout --kill-after=20 $((left < $1 ? left : $1)) scripts/gpu.sh "$2" "$out" >>"$out/$2.txt" 2>&1 ||
    status=$?
  echo "$2: $((SECONDS - from)) s$( ((status == 0)) || echo ", exit status $status, see $out/$2.txt")"
  return "$status"
}

# All that is there as one file; of microbenchmarks that were cut short what they had written.
join() {
  local name file
  for name in micro native tcp-micro tcp; do
    file=$out/$name.jsonl
    [[ -s "$file" ]] || file+=.part
    [[ ! -s "$file" ]] || cat "$file"
  done >"$out/dataset.jsonl"
  wc -l "$out/dataset.jsonl"
}

# Seconds for the microbenchmarks of a path with so many GPUs.
budget() { echo "${GPUCAST_BUDGET:-$((4 + 12 * $1))}"; }

machine() { echo "${GPUCAST_MACHINE:-$(hostname)}"; }

# Our Python package with the programs of this build; an installed one where GPUCAST names it, else
# this folder's.
gpucast() {
  local words sources=${PYTHONPATH:-}
  [[ -n "${GPUCAST:-}" ]] || sources+="${sources:+:}$PWD/python"
  read -ra words <<<"${GPUCAST:-python3 -m gpucast.cli}"
  PATH="${program%/*}:${microbench%/*}:$PATH" PYTHONPATH="$sources" \
    GPUCAST_REMOTE_LIB="$built/remote/client" "${words[@]}" "$@"
}

# microbenchmarks PATH SECONDS FILE: unless they are there to their end.
microbenchmarks() {
  [[ ! -s "$3" ]] || { echo "$3 is there"; return; }
  "$microbench" measure --engine cuda --path "$1" --machine "$(machine)/$1" \
    --what "$questions" --memory pinned,pageable ${GPUCAST_LARGEST:+--largest "$GPUCAST_LARGEST"} \
    --budget "$2" --fresh 0 --quiet -o "$3.part" --force
  mv "$3.part" "$3"
}

# Those of h200-x4, which forecasts what is measured here.
readonly sizes=216,512,1000,1728,4096,8000,13824,21952,32768,46656,64000,110592,175616,314432
readonly remote_sizes=216,1000,4096,8000,13824,21952,32768,64000,110592

# steps_of PATH SIZES FILE
steps_of() {
  local more
  read -ra more <<<"${GPUCAST_MEASURE:-}"
  gpucast measure --paths "$1" --gpus "1-$(gpus)" --kernels tuned,claret --n "$2" \
    --visits "${GPUCAST_VISITS:-3}" --cell-time 0.1s --no-transfers --machine "$(machine)" -o "$3" \
    "${more[@]}"
}

micro() {
  "$microbench" topology --engine cuda >"$out/topology.json"
  local questions=transfers,concurrent,launches,overlap,skeleton
  microbenchmarks native "$(budget "$(gpus)")" "$out/micro.jsonl"
}

native() { steps_of native "$sizes" "$out/native.jsonl"; }

tcp-micro() {
  serve
  local questions=transfers,launches,skeleton
  LD_LIBRARY_PATH="$built/remote/client" GPUCAST_REMOTE="$servers" \
    microbenchmarks remote "$(($(budget "$(gpus)") / 2))" "$out/tcp-micro.jsonl"
}

tcp() {
  serve
  steps_of "remote=${servers//,/+}" "$remote_sizes" "$out/tcp.jsonl"
}

# A server for each GPU on loopback, ended with this script; their addresses in `servers`.
serve() {
  local gpu log address
  trap 'jobs -p | xargs -r kill' EXIT
  servers=
  for ((gpu = 0; gpu < $(gpus); ++gpu)); do
    log=$out/server$gpu.log
    "$built/remote/gpucast-gpu-server" --gpu "$gpu" --listen 127.0.0.1:0 >"$log" 2>&1 &
    for _ in $(seq 100); do
      address=$(sed -n 's/.*listening on \([^ ]*\).*/\1/p' "$log")
      [[ -z "$address" ]] || break
      sleep 0.1
    done
    [[ -n "$address" ]] || { echo "server $gpu did not start; see $log" >&2; return 1; }
    servers+=${servers:+,}$address
  done
}

find_nccl
case "$what" in
  build | check | sanitize | transfers | runs | waits | throughput | steps | mpi | large | remote | \
    build-remote | dataset | micro | native | tcp-micro | tcp) "$what" ;;
  *) echo "$0: $what: $all" >&2; exit 2 ;;
esac
