#include "recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "call_names.h"
#include "gpucast/support/quiet_thread.h"

namespace gpucast::trace {
namespace {

constexpr std::array always{CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM,
                            CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_RUNTIME};
// Recorded in full phases.
constexpr std::array of_work{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                             CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
                             CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_CUDA_EVENT};

// No CUDA version has had more functions; their numbers have no gaps.
constexpr std::size_t most_functions = 4000;

// There is no function with number 0.
std::vector<std::string> call_names(const CuptiLibrary& cupti, CUpti_CallbackDomain domain) {
  std::vector<std::string> result{""};
  while (result.size() < most_functions) {
    const auto id = static_cast<CUpti_CallbackId>(result.size());
    const char* name = nullptr;
    if (cupti.GetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) break;
    result.emplace_back(name);
  }
  return result;
}

// Enables the functions with the wanted plain names one by one. Succeeds if any of them could be
// enabled: the driver may no longer have some of them.
CUptiResult enable_calls(const std::vector<std::string>& names,
                         CUptiResult (*enable)(CUpti_CallbackId, std::uint8_t),
                         const std::function<bool(std::string_view)>& wanted) {
  CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;
  for (CUpti_CallbackId id = 1; id < names.size(); ++id) {
    if (!wanted(plain_name(names[id]))) continue;
    const CUptiResult enabled = enable(id, 1);
    if (result != CUPTI_SUCCESS) result = enabled;
  }
  return result;
}

void ignore_callback(void* /*mine*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                     const void* /*data*/) {}

}  // namespace

std::atomic<Recorder*>& Recorder::instance() {
  static std::atomic<Recorder*> recorder{nullptr};
  return recorder;
}

Recorder::Recorder(CuptiLibrary cupti, Settings settings)
    : cupti_(std::move(cupti)),
      settings_(std::move(settings)),
      owner_(::getpid()),
      begun_(read_clocks()),
      folder_(settings_.folder),
      from_ns_(settings_.after.count() == 0 ? 0 : begun_.realtime + settings_.after.count()),
      phases_(settings_.phase, Phases::Time(begun_.monotonic) + settings_.after,
              settings_.light_to_full, settings_.begins_full),
      phase_began_ns_(begun_.realtime),
      tables_(folder_.path()),
      compaction_(
          tables_,
          [this](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
            const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
            const auto& names = runtime ? runtime_names_ : driver_names_;
            return id < names.size() ? names[id] : std::string();
          },
          from_ns_) {
  instance() = this;
  try {
    enable();
    folder_.describe(
        {.cupti = cupti_.version, .phase = open_phase(), .begun = begun_, .now = begun_});
  } catch (...) {
    disable();
    instance() = nullptr;
    std::error_code ignored;
    std::filesystem::remove_all(folder_.path(), ignored);
    throw;
  }
  // A forked child has our memory, with its locks as they were, and none of our threads.
  pthread_atfork(nullptr, nullptr, [] { instance() = nullptr; });
  thread_ = support::quiet_thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "gpucast-trace");
}

void Recorder::enable() {
  // Fails if another profiler is attached.
  CUpti_SubscriberHandle subscriber = nullptr;
  cupti_.require(cupti_.Subscribe(&subscriber, ignore_callback, nullptr), "subscribe");
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof(zeroed);
  // Older versions lack this attribute, and clear the buffers themselves.
  cupti_.ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  cupti_.require(cupti_.ActivityRegisterCallbacks(on_buffer_wanted, on_buffer_done), "buffers");
  runtime_names_ = call_names(cupti_, CUPTI_CB_DOMAIN_RUNTIME_API);
  driver_names_ = call_names(cupti_, CUPTI_CB_DOMAIN_DRIVER_API);
  if (!settings_.only.empty()) {
    choose_only_call();
    return;
  }
  for (const CUpti_ActivityKind kind : always)
    cupti_.require(cupti_.ActivityEnable(kind), "enable");
  if (phases_.full()) turn_work(true);
  choose_calls();
  // Queries that found work unfinished are calls, and not waits.
  cupti_.require(cupti_.ActivityEnableAllSyncRecords(0), "waits");
}

void Recorder::disable() const {
  for (const CUpti_ActivityKind kind : of_work)
    cupti_.ActivityDisable(kind);
  if (settings_.whole_graphs) cupti_.ActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  for (const CUpti_ActivityKind kind : always)
    cupti_.ActivityDisable(kind);
  // With the functions that were enabled one by one.
  cupti_.ActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}

// This comes after the runtime's kind was enabled, which enables all of its functions. The driver's
// kind is not enabled: its functions are, one by one.
void Recorder::choose_calls() {
  for (CUpti_CallbackId id = 1; id < runtime_names_.size(); ++id) {
    if (!stays_on_host(plain_name(runtime_names_[id]))) continue;
    cupti_.require(cupti_.ActivityEnableRuntimeApi(id, 0), "leave calls out");
  }
  cupti_.require(enable_calls(driver_names_, cupti_.ActivityEnableDriverApi, goes_beyond_host),
                 "enable calls");
}

// Records one function in all its versions: neither kind of calls is enabled.
void Recorder::choose_only_call() {
  const auto is_it = [this](std::string_view name) { return name == settings_.only; };
  const auto runtime = enable_calls(runtime_names_, cupti_.ActivityEnableRuntimeApi, is_it);
  const auto driver = enable_calls(driver_names_, cupti_.ActivityEnableDriverApi, is_it);
  cupti_.require(runtime == CUPTI_SUCCESS ? runtime : driver, "enable one call");
}

void Recorder::turn_work(bool on) const {
  const auto turn = [&](CUpti_ActivityKind kind) {
    cupti_.require(on ? cupti_.ActivityEnable(kind) : cupti_.ActivityDisable(kind), "switch");
  };
  std::ranges::for_each(of_work, turn);
  if (settings_.whole_graphs) turn(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

// --- the thread -------------------------------------------------------------------------------

void Recorder::run() noexcept {
  try {
    std::unique_lock lock(stop_mutex_);
    while (!stop_changed_.wait_for(lock, pause(), [this] { return stop_; })) {
      lock.unlock();
      flush(0, "open", 0);
      if (enough()) {
        end("enough");
        return;
      }
      const Phases::Time now(read_clocks().monotonic);
      if (phases_.full() && began_again_ < most_again && lacks_kernels()) {
        ++began_again_;
        switch_phase(true);
      } else if (phase_is_over(now)) {
        switch_phase(!phases_.full());
      }
      lock.lock();
    }
  } catch (const std::exception& error) {
    give_up(error.what());
  }
}

std::chrono::nanoseconds Recorder::pause() {
  // Waits for kernels in a full phase, which is begun again if there are none.
  constexpr std::chrono::milliseconds first_look(20);
  const bool waits_for_kernels = phases_.full() && before_phase_.kernels > 0 &&
                                 began_again_ < most_again &&
                                 counts().kernels == before_phase_.kernels;
  const std::chrono::nanoseconds longest =
      waits_for_kernels ? std::min<std::chrono::nanoseconds>(first_look, settings_.flush)
                        : settings_.flush;
  const Phases::Time left = phases_.left(Phases::Time(read_clocks().monotonic));
  return left > Phases::Time{0} ? std::min(left, longest) : longest;
}

RecordCounts Recorder::counts() {
  const std::scoped_lock lock(rows_mutex_);
  return compaction_.counts();
}

OpenPhase Recorder::open_phase() const {
  return {.start_ns = std::max(phase_began_ns_, from_ns_), .full = phases_.full()};
}

bool Recorder::phase_is_over(Phases::Time now) {
  const RecordCounts current = counts();
  if (!phases_.over(now, current.work)) return false;
  // A light phase needs at least one call.
  return phases_.full() || current.calls > before_phase_.calls;
}

// Whether kernels were launched since the phase began and none was recorded, though some were
// before: in one of five programs, CUPTI 13.0 records copies and no kernels after it was enabled a
// second time.
bool Recorder::lacks_kernels() {
  const RecordCounts now = counts();
  const std::uint64_t launches = now.launches - before_phase_.launches;
  constexpr std::uint64_t few = 20;
  return launches >= few && before_phase_.kernels > 0 && now.kernels == before_phase_.kernels;
}

// Calls during the switch belong to neither phase.
void Recorder::switch_phase(bool full) {
  const std::int64_t ended = read_clocks().realtime;
  if (phases_.full()) turn_work(false);
  // Enabling it again at once may fail again.
  if (full && phases_.full()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (full) turn_work(true);
  add_phase(ended);
  const RecordCounts now = counts();
  const ClockReading begun = read_clocks();
  if (full == phases_.full())
    phases_.again(Phases::Time(begun.monotonic), now.work);
  else
    phases_.next(Phases::Time(begun.monotonic), now.work);
  phase_began_ns_ = begun.realtime;
  before_phase_ = now;
}

// Adds the phase that is about to end.
void Recorder::add_phase(std::int64_t end_ns) {
  const std::int64_t start_ns = std::max(phase_began_ns_, from_ns_);
  if (start_ns >= end_ns) return;
  const PhaseKind kind = !phases_.full()   ? PhaseKind::light
                         : lacks_kernels() ? PhaseKind::lacking
                                           : PhaseKind::full;
  const std::scoped_lock lock(rows_mutex_);
  tables_.phases.add(
      {.start_ns = start_ns, .end_ns = end_ns, .full = static_cast<std::uint8_t>(kind)});
}

bool Recorder::enough() {
  // `gpucast trace` requests a flush, and looks at the files.
  std::error_code ignored;
  if (std::filesystem::exists(settings_.folder / "enough", ignored)) return true;
  if (settings_.calls != 0 && counts().calls >= settings_.calls) return true;
  const std::int64_t recorded =
      read_clocks().monotonic - begun_.monotonic - settings_.after.count();
  return settings_.duration.count() != 0 && recorded >= settings_.duration.count();
}

// Takes CUPTI's records, writes them, and updates the description of the process. After the last
// phase, recording was complete until `until_ns`.
void Recorder::flush(std::uint32_t flag, const char* ended, std::int64_t until_ns) {
  const bool last = flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
  // The lock is not held: CUPTI calls on_buffer_done in here. At the end CUPTI may be gone already,
  // and the existing rows have to be written nevertheless.
  const CUptiResult result = cupti_.ActivityFlushAll(flag);
  if (!last) cupti_.require(result, "flush");
  std::unique_lock lock(rows_mutex_);
  if (finished_) return;
  compaction_.settle(/*everything=*/last);
  if (last) {
    lock.unlock();
    add_phase(until_ns);
    lock.lock();
    tables_.close();
    finished_ = true;
  } else {
    tables_.write();
  }
  folder_.describe({.ended = ended,
                    .cupti = cupti_.version,
                    .counts = compaction_.counts(),
                    .lost = lost_,
                    .phase = last ? std::nullopt : std::optional(open_phase()),
                    .begun = begun_,
                    .now = read_clocks()});
}

void Recorder::end(const char* how) {
  const std::int64_t until_ns = read_clocks().realtime;
  disable();
  flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, how, until_ns);
}

void Recorder::finish() noexcept {
  if (::getpid() != owner_) return;
  try {
    {
      const std::scoped_lock lock(stop_mutex_);
      stop_ = true;
    }
    stop_changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, "exit", read_clocks().realtime);
  } catch (const std::exception& error) {
    give_up(error.what());
  }
}

void Recorder::give_up(const std::string& why) noexcept {
  {
    const std::scoped_lock lock(rows_mutex_);
    if (finished_) return;
    finished_ = true;
  }
  disable();
  std::fprintf(stderr, "gpucast trace: recording ended early: %s\n", why.c_str());
  report_problem(settings_.folder, "recording ended early: " + why);
}

// --- CUPTI's callbacks ------------------------------------------------------------------------

void CUPTIAPI Recorder::on_buffer_wanted(std::uint8_t** buffer, std::size_t* size,
                                         std::size_t* records) {
  Recorder* const recorder = instance();
  // A forked child has no thread that empties it.
  *buffer = recorder != nullptr ? recorder->buffers_.take() : Buffers::fresh();
  *size = Buffers::bytes;
  *records = 0;  // as many as fit
}

void CUPTIAPI Recorder::on_buffer_done(CUcontext /*context*/, std::uint32_t /*stream*/,
                                       std::uint8_t* buffer, std::size_t /*size*/,
                                       std::size_t written) {
  if (Recorder* const recorder = instance()) recorder->take_in(buffer, written);
}

void Recorder::take_in(std::uint8_t* buffer, std::size_t written) {
  if (buffer == nullptr) return;
  std::string problem;
  std::size_t dropped = 0;
  if (cupti_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped) != CUPTI_SUCCESS) dropped = 0;
  {
    const std::scoped_lock lock(rows_mutex_);
    try {
      lost_ += dropped;
      CUpti_Activity* record = nullptr;
      while (!finished_ && written > 0 &&
             cupti_.ActivityGetNextRecord(buffer, written, &record) == CUPTI_SUCCESS) {
        compaction_.add(*record);
      }
      // Writes early if a great deal is recorded between two flushes.
      constexpr std::size_t many_rows = 1 << 16;
      if (tables_.calls.rows().size() + tables_.work.rows().size() > many_rows) tables_.write();
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }
  buffers_.give_back(buffer, written);
  if (!problem.empty()) give_up(problem);
}

}  // namespace gpucast::trace
