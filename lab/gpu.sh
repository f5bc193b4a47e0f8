#!/usr/bin/env bash
# Builds the two programs on a GPU machine, checks them there and measures with them.
#
#   lab/gpu.sh build FOLDER       without fit and tests, for this machine's GPUs
#   lab/gpu.sh check FOLDER       gates, copies, forces, bytes, trajectories, on all GPUs
#   lab/gpu.sh transfers FOLDER   gpucast-microbench: the whole suite, in a minute
#   lab/gpu.sh sanitize FOLDER    under compute-sanitizer, all four tools
#   lab/gpu.sh throughput FOLDER  pairs a second of the kernels, beside OpenMM where Python has it;
#                                     instructions a pair
#   lab/gpu.sh remote FOLDER      servers on loopback: checks, trajectories, costs, beside native runs
#   lab/gpu.sh shared FOLDER      shared memory beside native runs and TCP: calls, copies, steps,
#                                     trajectories, clients that come and go (four minutes)
#   lab/gpu.sh tls FOLDER         what TLS costs, beside servers without it (two minutes)
#   lab/gpu.sh copies FOLDER      remote copies of 64 KiB to 4 MiB, beside raw sockets (two minutes)
#   lab/gpu.sh graphs FOLDER      CUDA graphs, memory pools and host functions over servers on loopback,
#                                     beside native runs (a minute)
#   lab/gpu.sh others FOLDER      programs of cuBLAS, cuFFT, PyTorch, CuPy and the static runtime over servers
#                                     on loopback: each ends, and says who called the driver (a minute)
#   lab/gpu.sh trace FOLDER       gpucast trace: what traces hold of programs that are known, what
#                                     recording costs (five minutes)
#   lab/gpu.sh dataset FOLDER     all of a dataset like h200-x4 on N = 1 to all GPUs, in rounds over
#                                     native and remote paths; with the same folder it goes on where it
#                                     ended (docs/measure.md). Parts of it: micro FOLDER PATH ROUND,
#                                     cells FOLDER PATH ROUND KERNEL, concurrent FOLDER
#
#   lab/gpu.sh traces FOLDER      what forecasts from traces are held against: small programs and the
#                                     mini-app, recorded natively, and measured in rounds over native and
#                                     remote paths; goes on where it ended, as dataset does. Parts of it:
#                                     build-traces FOLDER, costs FOLDER PATH ROUND, visit FOLDER PATH ROUND
#                                     PROGRAM, record FOLDER PROGRAM, skeletons FOLDER PATH,
#                                     together FOLDER PATH, record-torch FOLDER, pack FOLDER
#
# Output goes to FOLDER. The programs lie in build/gpu/mdapp and build/gpu/microbench. Headers of CLI11,
# nlohmann/json and Asio that the system lacks may lie in GPUCAST_HEADERS, as may the sources of
# nanoarrow that the recorder is built with (nanoarrow-0.9.0, which set-up puts into .venv/sources);
# OpenSSL's headers, libcrypto.a and libssl.a, which remote GPUs need, in OPENSSL_ROOT_DIR.
#
# Variables that steer a dataset, and what its parts take, are in docs/measure.md.

set -euo pipefail
cd "$(dirname "$0")/.."

built=$(realpath -m "${GPUCAST_BUILD:-build/gpu}")
readonly built
readonly program=$built/mdapp/gpucast-mdapp
readonly microbench=$built/microbench/gpucast-microbench
readonly verbs="build check sanitize transfers throughput build-remote remote shared tls copies graphs others \
trace dataset micro cells concurrent \
traces build-traces costs visit record record-torch skeletons together pack"
readonly what=${1:?one of $verbs}
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
  compile build.log gpucast-mdapp gpucast-microbench
}

# Needs Asio's headers (GPUCAST_HEADERS may hold them).
build-remote() {
  compile build-remote.log gpucast-mdapp gpucast-microbench gpucast-gpu-server gpucast_cudart \
    gpucast-remote-probe || lines 'remote GPUs' "$out/configure.log"
}

# compile LOG TARGET...
compile() {
  cmake --build build/gpu --target "${@:2}" >"$out/$1" ||
    lines 'error|FAILED|unknown target' "$out/$1"
}

# lines PATTERN FILE: shows what a program that failed printed of it, and fails.
lines() {
  grep -E "$1" "$2" >&2
  return 1
}

check() {
  "$microbench" check --engine cuda >"$out/check-microbench.txt" ||
    lines FAILED "$out/check-microbench.txt"
  "$program" check --engine cuda >"$out/check.txt" || lines FAILED "$out/check.txt"
  tail -q -n 1 "$out/check-microbench.txt" "$out/check.txt"
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

throughput() {
  python3 lab/benchmarks/mdapp_pairs.py --program "$program" --gpus "1-$(gpus)" \
    --json "$out/pairs.json" | tee "$out/pairs.txt"
}

remote() {
  build-remote
  local status=0
  python3 lab/benchmarks/remote.py --build build/gpu -o "$out" | tee "$out/remote.txt" || status=$?
  python3 lab/benchmarks/remote_soak.py --build build/gpu -o "$out" --gpus "$(gpus)" --connects 200 \
    --seconds 30 | tee "$out/remote-soak.txt" || status=$?
  return "$status"
}

shared() {
  build-remote
  local status=0
  python3 lab/benchmarks/remote.py --build build/gpu --shared --repeats 3 -o "$out" \
    | tee "$out/shared.txt" || status=$?
  python3 lab/benchmarks/remote_soak.py --build build/gpu -o "$out" --gpus "$(gpus)" --connects 200 \
    --seconds 20 --transport shared-memory | tee "$out/shared-soak.txt" || status=$?
  return "$status"
}

tls() {
  build-remote
  python3 lab/benchmarks/remote.py --build build/gpu --tls -o "$out" | tee "$out/tls.txt"
}

copies() {
  build-remote
  local security
  for security in --plain ''; do
    echo "== ${security:-TLS}"
    python3 lab/benchmarks/remote.py --build build/gpu --copies $security -o "$out"
  done | tee "$out/copies.txt"
}

# The same trajectories to the last bit, natively and remotely, with graphs and without; then a graph's
# own program, and what only the driver can say of pools and host functions.
graphs() {
  build && build-remote && compile build-graph.log graph
  local gpus way name
  for ((gpus = 1; gpus <= $(gpus); ++gpus)); do
    for way in native remote; do
      for name in plain graph; do
        on "$way" "$program" simulate --engine cuda --n 1000 --steps 200 --every 50 --gpus "$gpus" \
          --schedule star-async --kernel tuned --force --trajectory "$out/$way-$name-$gpus.xyz" \
          $([[ $name == plain ]] || echo --graph) >"$out/$way-$name-$gpus.txt"
        cmp "$out/native-plain-$gpus.xyz" "$out/$way-$name-$gpus.xyz" && echo "same: $way $name $gpus"
      done
    done
  done
  for way in native remote; do
    on "$way" "$built/trace/programs/graph" --n 5,50,500 --path "$way" -o "$out/graph-$way.jsonl" --force
  done
  on remote python3 lab/benchmarks/remote_calls.py
}

others() {
  local nvcc
  nvcc=$(scripts/nvcc.sh) || { echo "$0: no CUDA compiler" >&2; return 1; }
  build && build-remote && serve
  GPUCAST_REMOTE=$servers PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} with_cuda_libraries \
    python3 lab/benchmarks/remote_others.py --client "$built/remote/client" --nvcc "$nvcc" \
    --microbench "$microbench" -o "$out" 2>&1 | tee "$out/others.txt"
}

# CuPy needs cuFFT and NVRTC: those that came with PyTorch, else those of the toolkit.
with_cuda_libraries() {
  local beside
  beside=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13/lib
  LD_LIBRARY_PATH=$beside:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
}

trace() {
  build
  compile build-trace.log gpucast_trace gpucast-trace-probe gpucast-trace-probe-static ||
    lines 'recorder' "$out/configure.log"
  python3 -u lab/benchmarks/trace.py --build build/gpu -o "$out" --seconds "${GPUCAST_SECONDS:-300}" \
    ${GPUCAST_CASES:+--only "$GPUCAST_CASES"} 2>&1 | tee "$out/trace.txt"
}

# --- a dataset on all GPUs --------------------------------------------------------------------
#
# A host that others share is faster in one minute than in the next, so all cells of all paths are
# measured once before any is measured again: a round is a short suite of skeletons and launches on
# each path, then for each kernel its steps on each path, so that native and remote steps of a cell
# are a minute or two apart. The first round's suites hold all transfers, too; copies that run at
# once come after the second round.
#
# A part is a program's run, 5 to 60 s long; one that was cut short is run again, and one that will
# not fit into the time left (as long as the round before took it) is not begun.

dataset() {
  local status=0 round kernel path
  begin=$SECONDS
  if [[ -z "${GPUCAST_BUILD:-}" ]]; then
    part build && part build-remote || return 1
  fi
  for ((round = 1; round <= ${GPUCAST_ROUNDS:-3}; ++round)); do
    for path in $paths; do part micro "$path" "$round" || status=1; done
    for kernel in $kernels; do
      for path in $paths; do part cells "$path" "$round" "$kernel" || status=1; done
    done
    ((round != 2)) || part concurrent || status=1
  done
  [[ -n "${GPUCAST_BUILD:-}" ]] || part check || status=1
  join
  return "$status"
}

# part WHAT [PATH ROUND [KERNEL]]: this script's own, once, in what is left of GPUCAST_SECONDS.
part() {
  local name stamp status=0 from=$SECONDS limit
  name=$(IFS=-; echo "$*")
  stamp=$out/$name.done
  [[ ! -e "$stamp" ]] || return 0
  limit=$((${GPUCAST_SECONDS:-3600} - (SECONDS - begin)))
  if ((limit <= $(last_time "$@"))); then
    echo "$name: not begun, $limit s left"
    return 1
  fi
  # Ends what it started, too: timeout signals its whole group.
  timeout --kill-after=20 "$limit" lab/gpu.sh "$1" "$out" "${@:2}" >"$out/$name.txt" 2>&1 ||
    status=$?
  if ((status == 0)); then
    echo "$name: $((SECONDS - from)) s" | tee "$stamp"
  else
    echo "$name: $((SECONDS - from)) s, exit status $status, see $out/$name.txt"
  fi
  return "$status"
}

# Seconds that a part took in the round before this one; 0 where that is not known.
last_time() {
  local part=$1 path=${2:-} round=${3:-1} kernel=${4:-}
  local stamp=$out/$part-$path-$((round - 1))${kernel:+-$kernel}.done
  if [[ -e "$stamp" ]]; then sed 's/.*: \([0-9]*\) s/\1/' "$stamp"; else echo 0; fi
}

# All that is there as one file, in the order in which it was measured.
join() {
  find "$out" -name '*.jsonl' ! -name dataset.jsonl -printf '%T@ %p\n' | sort -n | cut -d' ' -f2- |
    xargs -r cat >"$out/dataset.jsonl.part"
  mv "$out/dataset.jsonl.part" "$out/dataset.jsonl"
  wc -l "$out/dataset.jsonl"
}

# Those of h200-x4.
readonly kernels=${GPUCAST_KERNELS:-tuned claret}
readonly paths=${GPUCAST_PATHS:-native remote remote-sync}
readonly sizes=216,512,1000,1728,4096,8000,13824,21952,32768,46656,64000,110592,175616,314432
readonly remote_sizes=216,1000,4096,8000,13824,21952,32768,64000,110592

# --- what forecasts from traces are held against --------------------------------------------------
#
# A round is, on each path, what transfers and launches cost, then each program on each path: a
# program's native and remote steps are seconds apart, and a path's costs a minute. Traces are recorded
# behind the first round, of as few steps as show the repetition. What is cut short goes on with the
# same folder. Seconds on paper, two GPUs (a process takes 1.2 to start, a cell 0.1 to 0.3 to warm up and
# at most 0.2 of steps):
#
#   build, build-traces                                                  60
#   costs            3 paths, 9 of measuring                             32 a round
#   visit            38 cells (graph: 3 more, native) in 7 programs      70 a round, all paths
#   cells            12 of the mini-app                                  13 a round, all paths
#   record           46 runs: each program's cells, 8 of the mini-app    70
#   skeletons        the calls of 37 traces, of each path                40
#   together         copies at once, of each path                        18
#   record-torch     2 runs                                              20
#   three rounds                                                        553, two rounds 438

traces() {
  local status=0 round path item
  begin=$SECONDS
  export GPUCAST_SIZES=${GPUCAST_SIZES:-1000,64000} GPUCAST_SCHEDULES=star-serial,star-async
  if [[ -z "${GPUCAST_BUILD:-}" ]]; then
    # The same folder on another machine.
    [[ -e "$built/trace/programs/graph" ]] || rm -f "$out"/build*.done
    part build && part build-remote && part build-traces || return 1
  fi
  for ((round = 1; round <= ${GPUCAST_ROUNDS:-3}; ++round)); do
    for path in $paths; do part costs "$path" "$round" || status=1; done
    for item in $small_programs; do
      for path in $paths; do part visit "$path" "$round" "$item" || status=1; done
    done
    for path in $paths; do part cells "$path" "$round" "${kernels%% *}" || status=1; done
    if ((round == 1)); then
      for item in mdapp $small_programs; do part record "$item" || status=1; done
    fi
    ((round == 2)) || continue
    if [[ -d "${GPUCAST_CALLS:-}" ]]; then
      for path in $paths; do part skeletons "$path" || status=1; done
    fi
    if (($(gpus) > 1)); then
      for path in $paths; do part together "$path" || status=1; done
    fi
  done
  part record-torch || status=1
  join
  pack
  return "$status"
}

# A loop that polls comes last: it may be what cannot be recorded.
readonly small_programs=${GPUCAST_PROGRAMS:-conjugate_gradients many_kernels pageable_copies pipeline \
halo_exchange streams graph histogram}

# The recorder is there where nanoarrow's sources and CUPTI's headers are (GPUCAST_HEADERS).
build-traces() {
  compile build-traces.log trace_programs
  if ! cmake --build build/gpu --target gpucast_trace >>"$out/build-traces.log" 2>&1; then
    echo "no recorder: nothing will be recorded; see configure.log and build-traces.log in $out" >&2
  fi
}

costs() {
  GPUCAST_LARGEST=${GPUCAST_LARGEST:-67108864} GPUCAST_INTERVAL=${GPUCAST_INTERVAL:-0.02} \
    suite "$1" "$out/costs-$1-$2.jsonl" 9 launches,transfers,skeleton --devices 0
}

# skeletons PATH: the calls of traces (gpucast trace calls) that lie in GPUCAST_CALLS.
skeletons() {
  local file="$out/skeletons-$1.jsonl" calls chosen=()
  for calls in "$GPUCAST_CALLS"/*.jsonl; do
    (($(sed -n '1s/.*"devices": *\([0-9]*\).*/\1/p' "$calls") > $(gpus))) || chosen+=("$calls")
  done
  on "$1" "$microbench" skeleton --engine cuda --trace "${chosen[@]}" \
    --max-time "${GPUCAST_CELL_SECONDS:-0.15}" --path "$1" \
    --machine "${GPUCAST_MACHINE:-$(hostname)}/$1" -o "$file.part" --force
  mv "$file.part" "$file"
}

together() {
  GPUCAST_INTERVAL=${GPUCAST_INTERVAL:-0.02} suite "$1" "$out/together-$1.jsonl" 5 concurrent
}

# sizes_of, settings_of, counts_of PROGRAM: its cells are all combinations.
sizes_of() { all_sizes_of "$1" | cut -d' ' -f "1-${GPUCAST_FIRST_SIZES:-9}"; }
all_sizes_of() {
  case "$1" in
    conjugate_gradients) echo 1024 262144 4194304 ;;
    many_kernels) echo 20 200 600 ;;
    pageable_copies) echo 4 16384 262144 4194304 ;;
    pipeline) echo 4096 65536 524288 2097152 ;;
    halo_exchange) echo 16384 262144 4194304 ;;
    histogram) echo 4096 1048576 16777216 ;;
    streams) echo 500 5000 50000 ;;
    graph) echo 5 50 500 ;;
    mdapp) tr , ' ' <<<"${GPUCAST_SIZES:-1000,64000}" ;;
  esac
}
settings_of() {
  case "$1" in
    halo_exchange) echo pinned pageable ;;
    histogram) echo wait poll ;;
    streams) echo blocking non-blocking ;;
    mdapp) echo star-serial/pageable star-async/pinned ;;
    *) echo - ;;
  esac
}
counts_of() {
  case "$1" in
    many_kernels | halo_exchange | mdapp) echo 1 $(($(gpus) > 1 ? 2 : 1)) | xargs -n 1 | uniq ;;
    *) echo 1 ;;
  esac
}
# listed WORDS: with commas between them
listed() { tr -s ' \n' , <<<"$*" | sed 's/,$//'; }

# visit PATH ROUND PROGRAM: all cells of a program.
visit() {
  local file="$out/visit-$1-$2-$3.jsonl" options=(--n "$(listed "$(sizes_of "$3")")")
  # Remote GPUs have no graphs.
  [[ "$3" != graph || "$1" == native ]] || return 0
  [[ "$(counts_of "$3")" == 1 ]] || options+=(--gpus "$(listed "$(counts_of "$3")")")
  on "$1" "$built/trace/programs/$3" "${options[@]}" --max-time "${GPUCAST_CELL_SECONDS:-0.2}" \
    --warm-up 0.1 --path "$1" --machine "${GPUCAST_MACHINE:-$(hostname)}/$1" -o "$file.part" --force
  mv "$file.part" "$file"
}

# record PROGRAM: a run of each of its cells under the recorder, which goes on where one fails. Its
# phases want some tenths of a second of steps.
record() {
  local n setting gpus name command
  for setting in $(settings_of "$1"); do
    for n in $(sizes_of "$1"); do
      for gpus in $(counts_of "$1"); do
        name=$1-${setting/\//-}-n$n-gpus$gpus
        name=${name/---/-}
        if [[ "$1" == mdapp ]]; then
          command=("$program" measure --engine cuda --kernel "${kernels%% *}" --n "$n" --gpus "$gpus"
            --schedule "${setting%/*}" --memory "${setting#*/}" --quiet)
        else
          command=("$built/trace/programs/$1" --n "$n")
          [[ "$setting" == - ]] || command+=(--case "$setting")
          [[ "$gpus" == 1 ]] || command+=(--gpus "$gpus")
        fi
        under_recorder "$name" "${command[@]}" --warm-up 0.05 --interval 0.0001 \
          --max-time "${GPUCAST_RECORD_SECONDS:-0.3}" --path native-recorded \
          --machine "${GPUCAST_MACHINE:-$(hostname)}/recorded" -o "$out/recorded-$name.jsonl" \
          --force || echo "$name: not recorded, exit status $?"
      done
    done
  done
}

record-torch() {
  local job
  for job in train infer; do
    # Loading cuDNN and choosing kernels comes first.
    GPUCAST_RECORDING=60 GPUCAST_RECORD_FOR=30 under_recorder "torch-$job" python3 lab/data/torch_steps.py --job "$job" \
      --steps 400 -o "$out/torch-$job.json" || echo "torch-$job: not recorded, exit status $?"
  done
}

# under_recorder NAME COMMAND...: traces/NAME.zip, of the whole run but for what lies behind 3 s
# (GPUCAST_RECORD_FOR).
# What does not end is ended, so that the others are recorded, too.
under_recorder() {
  mkdir -p "$out/traces"
  PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} GPUCAST_TRACE_LIB=$built/trace \
    timeout --kill-after=5 "${GPUCAST_RECORDING:-20}" \
    python3 -m gpucast.cli trace --steps 0 --seconds "${GPUCAST_RECORD_FOR:-3}" --force -o "$out/traces/$1.zip" -- "${@:2}"
}

# What is worth taking away, in few files of at most 15 MB.
pack() {
  xz -T0 -kf "$out/dataset.jsonl"
  rm -f "$out"/traces.tar.*
  [[ ! -d "$out/traces" ]] || tar -C "$out" -cf - traces | split -b 15M - "$out/traces.tar."
  (cd "$out" && find . -maxdepth 1 -type f \( -name '*.txt' -o -name '*.log' -o -name '*.done' -o -name '*.json' \) \
    -print0 | tar --null -T - -cJf logs.tar.xz)
  find "$out" -maxdepth 1 \( -name '*.xz' -o -name 'traces.tar.*' \) -printf '%s %p\n'
}

# on PATH COMMAND...: with the devices of the path.
on() {
  case "$1" in
    native) "${@:2}" ;;
    remote) serve; over_servers "${@:2}" ;;
    remote-sync) serve; GPUCAST_REMOTE_SYNC=1 over_servers "${@:2}" ;;
    # Through memory that client and server share, or not at all.
    remote-shm) serve; servers=$sockets GPUCAST_REMOTE_TRANSPORT=shared-memory over_servers "${@:2}" ;;
  esac
}

over_servers() { LD_LIBRARY_PATH="$built/remote/client" GPUCAST_REMOTE="$servers" "$@"; }

# recorded PATH FILE PROGRAM ARGUMENTS...: what a program measures on a path, there when it is whole.
recorded() {
  on "$1" "$3" measure --engine cuda --path "$1" --machine "${GPUCAST_MACHINE:-$(hostname)}/$1" \
    "${@:4}" --quiet -o "$2.part" --force
  mv "$2.part" "$2"
}

# suite PATH FILE SECONDS QUESTIONS [OPTIONS...]: over a network nothing is larger than 64 MiB, or what takes longest
# leaves no time for small copies.
suite() {
  local largest=1073741824
  [[ "$1" == native ]] || largest=67108864
  recorded "$1" "$2" "$microbench" --what "$4" --memory pinned,pageable --fresh 0 \
    --largest "${GPUCAST_LARGEST:-$largest}" --budget "${GPUCAST_BUDGET:-$3}" \
    ${GPUCAST_INTERVAL:+--interval "$GPUCAST_INTERVAL"} "${@:5}"
}

# micro PATH ROUND: the suite of a round.
micro() {
  local seconds=$((4 + 4 * $(gpus))) questions=launches,skeleton
  if (($2 == 1)); then
    seconds=$((4 + 6 * $(gpus))) questions=transfers,launches,skeleton
    [[ "$1" != native ]] || "$microbench" topology --engine cuda >"$out/topology.json"
  fi
  suite "$1" "$out/micro-$1-$2.jsonl" "$seconds" "$questions"
}

concurrent() { suite native "$out/concurrent.jsonl" $((8 * $(gpus))) concurrent,overlap; }

# cells PATH ROUND KERNEL: steps of a kernel, all schedules and memories.
cells() {
  local n=$sizes schedules=star-serial,star-async,allgather
  # NCCL knows no remote GPUs.
  [[ "$1" == native ]] || { n=$remote_sizes; schedules=star-serial,star-async; }
  recorded "$1" "$out/cells-$1-$2-$3.jsonl" "$program" --kernel "$3" --n "${GPUCAST_SIZES:-$n}" \
    --gpus "1-$(gpus)" --schedule "${GPUCAST_SCHEDULES:-$schedules}" \
    --memory "${GPUCAST_MEMORIES:-pageable,pinned}" --warm-up 0.01 \
    --max-time "${GPUCAST_CELL_SECONDS:-0.1}"
}

# A server for each GPU on loopback, ended with this script; their addresses in `servers`, those of
# their Unix sockets in `sockets`.
serve() {
  local gpu address folder
  folder=$(mktemp -d)
  trap 'jobs -p | xargs -r kill; rm -rf '"$folder" EXIT
  for ((gpu = 0; gpu < $(gpus); ++gpu)); do
    "$built/remote/gpucast-gpu-server" --gpu "$gpu" --listen "127.0.0.1:0,unix:$folder/$gpu" \
      >"$out/server$gpu.log" 2>&1 &
  done
  servers= sockets=
  for ((gpu = 0; gpu < $(gpus); ++gpu)); do
    for _ in $(seq 300); do
      address=$(sed -n 's/.*listening on \([0-9][^ ]*\).*/\1/p' "$out/server$gpu.log")
      [[ -z "$address" || ! -S "$folder/$gpu" ]] || break
      sleep 0.1
    done
    [[ -n "$address" ]] || { echo "server $gpu did not start; see $out/server$gpu.log" >&2; return 1; }
    servers+=${servers:+,}$address
    sockets+=${sockets:+,}unix:$folder/$gpu
  done
}

find_nccl
[[ " $verbs " == *" $what "* ]] || { echo "$0: $what: none of $verbs" >&2; exit 2; }
"$what" "${@:3}"
