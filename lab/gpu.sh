#!/usr/bin/env bash
# Builds the two programs on a GPU machine, checks them there and measures with them.
#
#   lab/gpu.sh VERB FOLDER
#
#   build       without fit and tests, for this machine's GPUs
#   check       gates, copies, forces, bytes, trajectories, on all GPUs
#   transfers   gpucast-microbench: the whole suite, in a minute
#   sanitize    under compute-sanitizer, all four tools
#   throughput  pairs a second of the kernels, beside OpenMM where Python has it; instructions a pair
#   remote      servers on loopback beside native runs, over TCP and through shared memory: checks,
#               trajectories, calls, copies, steps, clients that come and go (five minutes)
#   energy      time and energy of a step of PyTorch programs and the mini-app on one GPU, in visits;
#               the energy counter beside sampled power (seven minutes and the build)
#   measured-energy  the energy that `gpucast measure` (the command GPUCAST) records of programs that
#               know their own, on one GPU and on all, and of the mini-app where it is built
#   trace       gpucast trace: what traces hold of programs that are known, and what recording takes
#               (five minutes)
#   dataset     all of a dataset like h200-x4 on N = 1 to all GPUs, in rounds over native and remote
#               paths; with the same folder it goes on where it ended (docs/measure.md). Parts of it:
#               micro FOLDER PATH ROUND, cells FOLDER PATH ROUND KERNEL, concurrent FOLDER
#   traces      what forecasts from traces are held against: small programs and the mini-app,
#               recorded natively, and measured in rounds over native and remote paths; goes on where
#               it ended, as dataset does. Parts of it: build-traces FOLDER, costs FOLDER PATH ROUND,
#               visit FOLDER PATH ROUND PROGRAM, record FOLDER PROGRAM, skeletons FOLDER PATH,
#               together FOLDER PATH, pack FOLDER
#   kinds       traces of PyTorch programs and of those of `traces`, on one GPU, for `what-if TRACE --kind`
#               (two minutes of building and nine of programs; goes on where it ended). Parts of it:
#               build, build-traces FOLDER, record FOLDER PROGRAM, record-torch FOLDER PROGRAM N...
#   networks    the same without recordings, one round, over networks between the remote GPUs and their
#               programs that are slower than loopback: paths network-DELAY-RATE (us, Gbit/s)
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
readonly verbs="build check transfers sanitize throughput build-remote remote energy measured-energy \
trace dataset micro cells concurrent traces kinds networks build-traces costs visit record \
record-torch skeletons together pack"
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
    gpucast-remote-probe gpucast-slow-network || lines 'remote GPUs' "$out/configure.log"
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
  local transport
  for transport in tls shared-memory; do
    python3 lab/benchmarks/remote_clients.py soak --build build/gpu -o "$out" --gpus "$(gpus)" \
      --clients 200 --seconds 30 --transport $transport | tee "$out/soak-$transport.txt" || status=$?
  done
  return "$status"
}

energy() {
  local mdapp=()
  if cmake -S . -B build/gpu -G Ninja -DGPUCAST_FIT=OFF -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CUDA_ARCHITECTURES=native ${GPUCAST_HEADERS:+-DCMAKE_INCLUDE_PATH="$GPUCAST_HEADERS"} \
    >"$out/configure.log" && compile build.log gpucast-mdapp; then
    mdapp=(--mdapp "$program")
  fi
  python3 -u lab/benchmarks/energy.py -o "$out" --seconds "${GPUCAST_SECONDS:-420}" \
    --machine "${GPUCAST_MACHINE:-$(hostname)}/native" "${mdapp[@]}" 2>&1 | tee "$out/energy.txt"
  xz -T0 -f "$out/sampled.csv"
}

measured-energy() {
  local gpucast=${GPUCAST:-gpucast} name work
  while read -r name work; do
    cat >"$out/$name.yaml" <<END
program: $name
command: [python3, $PWD/lab/benchmarks/energy_steps.py, $name, "{n}", "{gpus}"]
sizes: [$work]
gpus: [1, $(gpus)]
result: {regex: 'step: (?P<time>[0-9.]+) ms', unit: ms}
success: joules a step
END
    [[ $(gpus) != 1 ]] || sed -i 's/^gpus: .*/gpus: [1]/' "$out/$name.yaml"
    "$gpucast" measure --program "$out/$name.yaml" --visits "${GPUCAST_VISITS:-2}" \
      -o "$out/$name.jsonl" 2>&1 | tee "$out/$name.txt" || true
  done <<'END'
mlp-train 1024, 16384
stream 16777216, 536870912
resnet-infer 16, 1024
transformer-train 4096, 32768
END
  # What each run knew of itself.
  grep -rH 'joules a step' "$out"/*.logs >"$out/known.txt"
  [[ ! -x "$program" ]] || PATH=$(dirname "$program"):$(dirname "$microbench"):$PATH \
    "$gpucast" measure --path native --no-transfers --kernel tuned --schedule star-async \
    -n 16384,64000,175616 --gpus "1,$(gpus)" --cell-time 2s --visits "${GPUCAST_VISITS:-2}" \
    -o "$out/mdapp.jsonl" 2>&1 | tee "$out/mdapp.txt"
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
# A round is, on each path, what transfers and launches take, then each program on each path: a
# program's native and remote steps are seconds apart, and a path's transfers a minute. Traces are
# recorded behind the first round, of as few steps as show the repetition. What is cut short goes on
# with the same folder. Three rounds take about nine minutes on two GPUs (a process takes 1.2 s to
# start, a cell 0.1 to 0.3 s to warm up and at most 0.2 s of steps).

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
    if ((round == 1)) && [[ -z "${GPUCAST_UNRECORDED:-}" ]]; then
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
  join
  pack
  return "$status"
}

# A layer that forecasts have not seen: remote GPUs behind networks, with the programs of which
# data/measured/h200-programs holds traces. Takes 3.5 minutes on a GPU: 40 s to build, 65 s what calls
# take, 8 s a program on all paths, and 10 s more of bytes at 1 Gbit/s.
networks() {
  export GPUCAST_PATHS=${GPUCAST_PATHS:-native network-5-10 network-50-10 network-500-1}
  export GPUCAST_PROGRAMS=${GPUCAST_PROGRAMS:-$unseen_programs} GPUCAST_SIZES=${GPUCAST_SIZES:-1000}
  export GPUCAST_KERNELS=${GPUCAST_KERNELS:-tuned} GPUCAST_ROUNDS=${GPUCAST_ROUNDS:-1} GPUCAST_UNRECORDED=1
  lab/gpu.sh traces "$out"
}

readonly unseen_programs="batches bodies eigenvector fourier images reduction scan sort stencil training \
traversal walks"

# A loop that polls comes last: it may be what cannot be recorded.
readonly small_programs=${GPUCAST_PROGRAMS:-conjugate_gradients many_kernels pageable_copies pipeline \
halo_exchange streams graph $unseen_programs histogram}

# The recorder is there where nanoarrow's sources and CUPTI's headers are (GPUCAST_HEADERS).
build-traces() {
  compile build-traces.log trace_programs
  if ! cmake --build build/gpu --target gpucast_trace >>"$out/build-traces.log" 2>&1; then
    echo "no recorder: nothing will be recorded; see configure.log and build-traces.log in $out" >&2
  fi
}

costs() {
  local largest=67108864 seconds=9
  case "$1" in
    network-*-1) largest=16777216 seconds=30 ;;  # six copies of 64 MiB each way: 6 s
    network-*) seconds=16 ;;
  esac
  GPUCAST_LARGEST=${GPUCAST_LARGEST:-$largest} GPUCAST_INTERVAL=${GPUCAST_INTERVAL:-0.02} \
    suite "$1" "$out/costs-$1-$2.jsonl" "$seconds" launches,transfers,skeleton --devices 0
}

# skeletons PATH: the calls of traces (gpucast trace calls) that lie in GPUCAST_CALLS.
skeletons() {
  local calls chosen=()
  for calls in "$GPUCAST_CALLS"/*.jsonl; do
    (($(sed -n '1s/.*"devices": *\([0-9]*\).*/\1/p' "$calls") > $(gpus))) || chosen+=("$calls")
  done
  recorded "$1" "$out/skeletons-$1.jsonl" "$microbench" skeleton --engine cuda \
    --trace "${chosen[@]}" --max-time "${GPUCAST_CELL_SECONDS:-0.15}"
}

together() {
  GPUCAST_INTERVAL=${GPUCAST_INTERVAL:-0.02} suite "$1" "$out/together-$1.jsonl" 5 concurrent
}

# Program, sizes, settings, GPU counts (some: one, and two where there are): its cells are all
# combinations.
readonly programs="
conjugate_gradients 1024,262144,4194304 - 1
many_kernels 20,200,600 - some
pageable_copies 4,16384,262144,4194304 - 1
pipeline 4096,65536,524288,2097152 - 1
halo_exchange 16384,262144,4194304 pinned,pageable some
histogram 4096,1048576,16777216 wait,poll 1
streams 500,5000,50000 blocking,non-blocking 1
graph 5,50,500 - 1
batches 4096,65536,1048576 - 1
bodies 1024,8192,32768 - 1
eigenvector 1024,262144,4194304 - 1
fourier 4096,65536,1048576 - 1
images 65536,1048576,16777216 - 1
reduction 4096,1048576,33554432 - 1
scan 16384,262144,1048576 - 1
sort 4096,65536,1048576 - 1
stencil 16384,1048576,16777216 - 1
training 64,512,4096 - 1
traversal 1024,65536,1048576 - 1
walks 1024,65536,1048576 - 1
mdapp ${GPUCAST_SIZES:-1000,64000} star-serial/pageable,star-async/pinned some"

# cells_of PROGRAM: its sizes, settings and counts, with commas between them.
cells_of() {
  read -r _ sizes_of settings_of counts_of < <(grep "^$1 " <<<"$programs")
  sizes_of=$(cut -d, -f "1-${GPUCAST_FIRST_SIZES:-9}" <<<"$sizes_of")
  [[ "$counts_of" == 1 || $(gpus) == 1 ]] && counts_of=1 || counts_of=1,2
}

# visit PATH ROUND PROGRAM: all cells of a program.
visit() {
  cells_of "$3"
  local options=(--n "$sizes_of")
  # Remote GPUs have no graphs.
  [[ "$3" != graph || "$1" == native ]] || return 0
  [[ "$counts_of" == 1 ]] || options+=(--gpus "$counts_of")
  recorded "$1" "$out/visit-$1-$2-$3.jsonl" "$built/trace/programs/$3" "${options[@]}" \
    --max-time "${GPUCAST_CELL_SECONDS:-0.2}" --warm-up 0.1
}

# record PROGRAM: a run of each of its cells under the recorder, which goes on where one fails. Its
# phases want some tenths of a second of steps. The program's own records are not kept: its second
# run, which is not recorded, would write over them.
record() {
  local n setting gpus name command options=()
  cells_of "$1"
  for setting in ${settings_of//,/ }; do
    for n in ${sizes_of//,/ }; do
      for gpus in ${counts_of//,/ }; do
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
          --max-time "${GPUCAST_RECORD_SECONDS:-0.3}" -o /dev/null --force ||
          echo "$name: not recorded, exit status $?"
      done
    done
  done
}

# record-torch PROGRAM N...: the same for a program of lab/benchmarks/energy.py.
record-torch() {
  local n recording=60 options=(--range step --seconds 0)
  for n in "${@:2}"; do
    under_recorder "$1-n$n-gpus1" python3 lab/benchmarks/trace_torch.py \
      "${GPUCAST_STEPS:-50000}" "$1" "$n" || echo "$1: not recorded, exit status $?"
  done
}

kinds() {
  local status=0 item counts
  begin=$SECONDS
  export GPUCAST_SIZES=${GPUCAST_SIZES:-1000,64000}
  part build && part build-traces || return 1
  while read -r item counts; do
    # shellcheck disable=SC2086  # a word for each size
    part record-torch "$item" $counts </dev/null || status=1
  done <<<"$torch_programs"
  for item in $own_programs; do part record "$item" || status=1; done
  pack
  return "$status"
}

readonly own_programs=${GPUCAST_PROGRAMS-mdapp $unseen_programs}
readonly torch_programs="resnet-infer 1 256
stream 1048576 536870912
attention-train 4096 32768
sparse-cg 1048576 16777216
fft 262144 134217728
gemm-fp64 2048 8192
nbody 1024 16384
mlp-train 256 4096
mlp-train-tf32 1024 8192
transformer-train 4096 32768
resnet-train 32 256
mlp-train-fp32 512 4096
adamw 1048576 536870912"

# under_recorder NAME COMMAND...: traces/NAME.zip, of the whole run but for what lies behind 6 s.
# What does not end is ended, so that the others are recorded, too.
under_recorder() {
  mkdir -p "$out/traces"
  PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} GPUCAST_TRACE_LIB=$built/trace \
    timeout --kill-after=5 "${GPUCAST_RECORDING:-${recording:-20}}" \
    python3 -m gpucast.cli trace --steps 0 --seconds 6 "${options[@]}" --force -o "$out/traces/$1.zip" -- "${@:2}"
}

# What is worth taking away, in few files of at most 15 MB.
pack() {
  [[ ! -e "$out/dataset.jsonl" ]] || xz -T0 -kf "$out/dataset.jsonl"
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
    network-*) serve; between "$1"; over_servers "${@:2}" ;;
    # Through memory that client and server share, or not at all.
    remote-shm) serve; servers=$sockets GPUCAST_REMOTE_TRANSPORT=shared-memory over_servers "${@:2}" ;;
  esac
}

over_servers() { LD_LIBRARY_PATH="$built/remote/client" GPUCAST_REMOTE="$servers" "$@"; }

# recorded PATH FILE COMMAND...: what a program measures on a path, there when it is whole.
recorded() {
  on "$1" "${@:3}" --path "$1" --machine "${GPUCAST_MACHINE:-$(hostname)}/$1" -o "$2.part" --force
  mv "$2.part" "$2"
}

# suite PATH FILE SECONDS QUESTIONS [OPTIONS...]: over a network nothing is larger than 64 MiB, or what takes longest
# leaves no time for small copies.
suite() {
  local largest=1073741824
  [[ "$1" == native ]] || largest=67108864
  recorded "$1" "$2" "$microbench" measure --engine cuda --quiet --what "$4" --memory pinned,pageable --fresh 0 \
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
  recorded "$1" "$out/cells-$1-$2-$3.jsonl" "$program" measure --engine cuda --quiet \
    --kernel "$3" --n "${GPUCAST_SIZES:-$n}" --gpus "1-$(gpus)" \
    --schedule "${GPUCAST_SCHEDULES:-$schedules}" \
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

# between PATH: the network of that name between programs and each of the `servers`.
between() {
  local server address delay rate log=$out/$1.log behind=
  IFS=- read -r _ delay rate <<<"$1"
  for server in ${servers//,/ }; do
    : >"$log"
    "$built/remote/probe/gpucast-slow-network" "${server##*:}" "${delay}e-6" "${rate}e9" >"$log" &
    for _ in $(seq 300); do
      address=$(sed -n 's/listening on //p' "$log")
      [[ -z "$address" ]] || break
      sleep 0.01
    done
    behind+=${behind:+,}${address:?$1: see $log}
  done
  servers=$behind
}

find_nccl
[[ " $verbs " == *" $what "* ]] || { echo "$0: $what: none of $verbs" >&2; exit 2; }
"$what" "${@:3}"
