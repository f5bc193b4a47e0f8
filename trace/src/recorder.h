// Records this process: CUPTI's own threads, or ours, which flushes it every tenth of a second,
// empty the returned buffers into the tables. The memory is thus bounded, and a killed process
// loses at most that much.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "buffers.h"
#include "compaction.h"
#include "cupti_library.h"
#include "phases.h"
#include "process_folder.h"
#include "settings.h"
#include "tables.h"

namespace gpucast::trace {

class Recorder {
 public:
  // Begins to record. Throws CuptiError or std::runtime_error if that fails; CUPTI is then
  // disabled. There is one recorder in a process, since CUPTI's callbacks know only one, and it is
  // never destroyed, since CUPTI may call it until the process has ended.
  Recorder(CuptiLibrary cupti, Settings settings);
  ~Recorder() = delete;

  // To be called at the end of the process. Does nothing in a forked child: that has CUPTI's memory
  // but none of its threads, and the files belong to its parent.
  void finish() noexcept;

 private:
  void enable();
  void disable() const;
  void choose_calls();
  void choose_only_call();
  void turn_work(bool on) const;
  void run() noexcept;
  void end(const char* how);
  void flush(std::uint32_t flag, const char* ended, std::int64_t until_ns);
  void switch_phase(bool full);
  void add_phase(std::int64_t end_ns);
  [[nodiscard]] RecordCounts counts();
  [[nodiscard]] OpenPhase open_phase() const;
  [[nodiscard]] bool phase_is_over(Phases::Time now);
  [[nodiscard]] bool lacks_kernels();
  [[nodiscard]] std::chrono::nanoseconds pause();
  [[nodiscard]] bool enough();
  void take_in(std::uint8_t* buffer, std::size_t written);
  void give_up(const std::string& why) noexcept;

  static void CUPTIAPI on_buffer_wanted(std::uint8_t** buffer, std::size_t* size,
                                        std::size_t* records);
  static void CUPTIAPI on_buffer_done(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                      std::size_t size, std::size_t written);
  static std::atomic<Recorder*>& instance();

  CuptiLibrary cupti_;
  Settings settings_;
  pid_t owner_;
  ClockReading begun_;
  ProcessFolder folder_;
  Buffers buffers_;

  // CUPTI's names of the functions of the runtime and the driver, by number.
  std::vector<std::string> runtime_names_;
  std::vector<std::string> driver_names_;
  std::int64_t from_ns_;  // earlier rows are dropped

  // Used by our thread, and by `finish` after that has ended.
  Phases phases_;
  std::int64_t phase_began_ns_;
  RecordCounts before_phase_;
  static constexpr int most_again = 10;
  int began_again_ = 0;  // full phases without kernels

  std::mutex rows_mutex_;  // protects the following members
  Tables tables_;
  Compaction compaction_;
  std::uint64_t lost_ = 0;
  bool finished_ = false;  // later records are dropped

  std::mutex stop_mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gpucast::trace
