#include "recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <utility>

#include "call_names.h"

namespace gpucast::trace {
namespace {

// Those of each recording; graphs as a whole where that is wanted.
constexpr std::array kinds{CUPTI_ACTIVITY_KIND_CONTEXT,
                           CUPTI_ACTIVITY_KIND_STREAM,
                           CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                           CUPTI_ACTIVITY_KIND_MEMCPY,
                           CUPTI_ACTIVITY_KIND_MEMCPY2,
                           CUPTI_ACTIVITY_KIND_MEMSET,
                           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                           CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                           CUPTI_ACTIVITY_KIND_MARKER,
                           CUPTI_ACTIVITY_KIND_RUNTIME,
                           CUPTI_ACTIVITY_KIND_DRIVER};

// No CUDA has had more functions than this; their numbers have no gaps.
constexpr CUpti_CallbackId most_functions = 4000;

std::string call_name(const CuptiLibrary& cupti, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const char* name = nullptr;
  if (cupti.GetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) return "";
  return name;
}

void ignore_callback(void* /*mine*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                     const void* /*data*/) {}

// The program's signals are for the program's threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

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
      tables_(folder_.path()),
      compaction_(
          tables_,
          [this](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
            return call_name(cupti_, domain, id);
          },
          settings_.after.count() == 0 ? 0 : begun_.realtime + settings_.after.count()) {
  instance() = this;
  try {
    enable();
    folder_.describe({.cupti = cupti_.version, .begun = begun_, .now = begun_});
  } catch (...) {
    for (const CUpti_ActivityKind each : kinds)
      cupti_.ActivityDisable(each);
    instance() = nullptr;
    std::error_code ignored;
    std::filesystem::remove_all(folder_.path(), ignored);
    throw;
  }
  // A child that is forked has our memory, with locks as they were, and none of our threads.
  pthread_atfork(nullptr, nullptr, [] { instance() = nullptr; });
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "gpucast-trace");
}

void Recorder::enable() {
  // Also says whether a profiler is there already.
  CUpti_SubscriberHandle subscriber = nullptr;
  cupti_.require(cupti_.Subscribe(&subscriber, ignore_callback, nullptr), "subscribe");
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof(zeroed);
  // Older versions lack it, and clear the buffers themselves.
  cupti_.ActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  cupti_.require(cupti_.ActivityRegisterCallbacks(on_buffer_wanted, on_buffer_done), "buffers");
  for (const CUpti_ActivityKind each : kinds) {
    cupti_.require(cupti_.ActivityEnable(each), "enable");
  }
  if (settings_.whole_graphs) {
    cupti_.require(cupti_.ActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "graphs");
  }
  leave_out_local_calls();
  // Queries that found nothing done are calls, and no waits.
  cupti_.require(cupti_.ActivityEnableAllSyncRecords(0), "waits");
}

// After its kind was enabled, which enables all calls.
void Recorder::leave_out_local_calls() {
  for (const auto& [domain, enable] :
       {std::pair{CUPTI_CB_DOMAIN_RUNTIME_API, cupti_.ActivityEnableRuntimeApi},
        std::pair{CUPTI_CB_DOMAIN_DRIVER_API, cupti_.ActivityEnableDriverApi}}) {
    for (CUpti_CallbackId id = 1; id < most_functions; ++id) {
      const std::string name = call_name(cupti_, domain, id);
      if (name.empty()) break;
      if (always_local(plain_name(name))) cupti_.require(enable(id, 0), "leave calls out");
    }
  }
}

// --- the thread -------------------------------------------------------------------------------

void Recorder::run() noexcept {
  try {
    std::unique_lock lock(stop_mutex_);
    while (!stop_changed_.wait_for(lock, settings_.flush, [this] { return stop_; })) {
      lock.unlock();
      flush(0, "open");
      if (enough()) {
        end("enough");
        return;
      }
      lock.lock();
    }
  } catch (const std::exception& error) {
    give_up(error.what());
  }
}

bool Recorder::enough() {
  // Asked for by `gpucast trace`, which looks at what is there.
  std::error_code ignored;
  if (std::filesystem::exists(settings_.folder / "enough", ignored)) return true;
  if (settings_.calls != 0) {
    const std::scoped_lock lock(rows_mutex_);
    if (compaction_.counts().calls >= settings_.calls) return true;
  }
  const std::int64_t recorded =
      read_clocks().monotonic - begun_.monotonic - settings_.after.count();
  return settings_.duration.count() != 0 && recorded >= settings_.duration.count();
}

// Hands over what CUPTI has, writes it, and says how far this process is.
void Recorder::flush(std::uint32_t flag, const char* ended) {
  const bool last = flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
  // Without the lock: CUPTI calls on_buffer_done in here. At the end it may be gone already, and
  // what there is has to be written all the same.
  const CUptiResult result = cupti_.ActivityFlushAll(flag);
  if (!last) cupti_.require(result, "flush");
  const std::scoped_lock lock(rows_mutex_);
  if (finished_) return;
  compaction_.settle(/*everything=*/last);
  if (last) {
    tables_.close();
    finished_ = true;
  } else {
    tables_.write();
  }
  const RecordCounts& counts = compaction_.counts();
  folder_.describe({.ended = ended,
                    .cupti = cupti_.version,
                    .calls = counts.calls,
                    .work = counts.work,
                    .lost = lost_,
                    .untimed = counts.untimed,
                    .inner = counts.inner,
                    .begun = begun_,
                    .now = read_clocks()});
}

void Recorder::end(const char* how) {
  for (const CUpti_ActivityKind each : kinds)
    cupti_.ActivityDisable(each);
  if (settings_.whole_graphs) cupti_.ActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, how);
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
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, "exit");
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
  for (const CUpti_ActivityKind each : kinds)
    cupti_.ActivityDisable(each);
  std::fprintf(stderr, "gpucast trace: recording ended early: %s\n", why.c_str());
  report_problem(settings_.folder, "recording ended early: " + why);
}

// --- CUPTI's callbacks ------------------------------------------------------------------------

void CUPTIAPI Recorder::on_buffer_wanted(std::uint8_t** buffer, std::size_t* size,
                                         std::size_t* records) {
  Recorder* const recorder = instance();
  // In a child that was forked nobody empties it.
  *buffer = recorder != nullptr ? recorder->buffers_.take()
                                : static_cast<std::uint8_t*>(std::calloc(Buffers::bytes, 1));
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
  {
    const std::scoped_lock lock(rows_mutex_);
    try {
      CUpti_Activity* record = nullptr;
      while (!finished_ && written > 0 &&
             cupti_.ActivityGetNextRecord(buffer, written, &record) == CUPTI_SUCCESS) {
        compaction_.add(*record);
      }
      std::size_t dropped = 0;
      if (cupti_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
        lost_ += dropped;
      }
      // Between two flushes, where a great deal is recorded.
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
