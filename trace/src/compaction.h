// Converts CUPTI's activity records, which have 40 to 216 bytes each and arrive in no particular
// order, into rows of a trace's tables.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tables.h"

namespace gpucast::trace {

class Compaction {
 public:
  // CUPTI's name of a function of the runtime or driver; "" if it is unknown.
  using CallName = std::function<std::string(CUpti_CallbackDomain, CUpti_CallbackId)>;

  // Rows that began before `from_ns` are dropped; streams and names are kept.
  Compaction(Tables& tables, CallName call_name, std::int64_t from_ns = 0);

  void add(const CUpti_Activity& record);

  // To be called from time to time: passes on calls that were kept because the call that made them
  // may not have ended. `everything`: no more records will arrive.
  void settle(bool everything);

  [[nodiscard]] const RecordCounts& counts() const { return counts_; }

 private:
  // A call that another one may have made, whose own record may arrive before or after it.
  struct Pending {
    Call call;
    int age;  // number of settle() calls since
  };
  // A thread that repeatedly queries whether something is finished.
  struct Polling {
    std::uint32_t name = 0;    // of its last call if that found work unfinished; otherwise 0
    std::optional<Call> last;  // dropped if another one of the same kind follows
  };
  struct Thread {
    std::uint16_t number;
    Call last_runtime_call{};
    std::vector<Pending> pending;
  };

  void add_call(const CUpti_ActivityAPI& record);
  void keep(const Call& call);
  void write(const Call& call);
  void leave_out(const Call& inner, const Call& outer);
  void add_wait(const CUpti_ActivitySynchronization2& record);
  void add_recorded_event(const CUpti_ActivityCudaEvent2& record);
  void add_marker(const CUpti_ActivityMarker2& record);
  void add_context(const CUpti_ActivityContext3& record);
  void add_stream(const CUpti_ActivityStream& record);
  void add_work(Work work);

  Thread& thread(std::uint32_t id);
  std::uint32_t name_of_call(CUpti_CallbackDomain domain, CUpti_CallbackId id);
  std::uint32_t name_of_kernel(const char* mangled);
  std::uint32_t outermost(std::uint32_t correlation) const;

  Tables& tables_;
  Names names_;
  CallName call_name_;
  std::int64_t from_ns_;
  RecordCounts counts_;
  std::unordered_map<std::uint32_t, Thread> threads_;
  std::vector<Polling> polling_;                                       // by thread number
  std::unordered_set<std::uint32_t> queries_;                          // names
  std::unordered_set<std::uint32_t> launches_;                         // names
  std::unordered_map<std::uint64_t, std::uint32_t> call_names_;        // by domain and id
  std::unordered_map<std::string, std::uint32_t> kernel_names_;        // by mangled name
  std::unordered_map<std::uint32_t, std::uint32_t> outer_call_;        // by inner call, the newest
  std::unordered_map<std::uint32_t, std::uint32_t> older_outer_call_;  // the older ones
  std::unordered_map<std::uint32_t, std::uint16_t> device_of_context_;
  std::vector<CUpti_ActivityStream> streams_without_device_;
  std::unordered_map<std::uint32_t, Range> open_ranges_;  // by marker
};

}  // namespace gpucast::trace
