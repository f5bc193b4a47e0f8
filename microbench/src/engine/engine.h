// Devices that bytes are copied to and work is started on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "copies/copy.h"
#include "engine/loop.h"
#include "engine/skeleton.h"
#include "engine/traced_steps.h"
#include "gpucast/devices/backend.h"
#include "gpucast/records/records.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/interface.h"

namespace gpucast::microbench {

using support::DeviceError;

// Copies that are under way together, with buffers of their own. What is sent is known, and
// destinations hold something else before.
class CopySet : public support::Interface {
 public:
  // Goes on to the next of the hardware's queues, which differ; what follows uses that one.
  virtual void next_queue() {}
  // Seconds that the caller of the first copy waits for it, blocking; the others rest.
  virtual double call() = 0;
  // Seconds, by the device's clock, of `count` of the first copy, one behind the other, all queued
  // before the first begins, with the others under way all the while. Copies of one
  // kind (route and size) are timed until all have made `count` each: those that take turns on one
  // engine end one after the other. 0: of nothing at all.
  virtual double gated(int count) = 0;
  // The same of an empty kernel and the first copy alone, `count` times with another kernel behind
  // it, which waits for it and for which the next waits; or of the kernels alone. The difference is
  // what a copy adds to work that depends on it. `before` copies and kernels come first and are not
  // timed: what begins to wait while the gate is closed waits less than what follows other work.
  enum class Payload { copies, nothing };
  virtual double between_kernels(int count, Payload payload, int before) = 0;
  // What one gated sample holds: copies that take `seconds`, so that the clock's resolution
  // is small beside them and it does not matter that those under way together begin one after the
  // other; but `most` at most, as queues are finite.
  struct Batch {
    double seconds = 100e-6;
    int most = 32;
  };
  virtual Batch batch() const { return {}; }
  // Whether what arrived is what was sent, by every copy. For copies made before.
  virtual bool correct() = 0;
};

// Empty kernels of one device.
class Launches : public support::Interface {
 public:
  virtual void next_queue() {}           // as of copies
  virtual double submit(int count) = 0;  // seconds that the caller of `count` waits, queue empty
  virtual double sync(int count) = 0;    // seconds until `count` have run; 0: of a wait for nothing
  virtual double gated(int count) = 0;   // seconds of `count`, by the device's clock; 0: of nothing
  virtual double graph(int count) = 0;   // seconds until a graph of `count` nodes has run
};

// A copy up, a copy down and a kernel of one device, each as long as the longer copy alone.
class Overlaps : public support::Interface {
 public:
  // Seconds from the common start until all of `parts` have ended.
  virtual double together(std::span<const records::OverlapPart> parts) = 0;
};

// Two arrays of floats in one kind of host memory, and a loop from one to the other:
// out[k] = 2 in[list[k]] + 1.
class HostLoops : public support::Interface {
 public:
  virtual double allocate() = 0;     // seconds to get memory for one array
  virtual double first_touch() = 0;  // seconds of a CPU's first write to all pages of one array
  // Seconds of one array up and one down.
  virtual double copy() = 0;
  // Seconds until the loop has run, as its caller waits. A GPU reaches mapped memory itself and
  // has copies of the arrays otherwise.
  virtual double loop(LoopPattern pattern, Runner runner) = 0;
  // Whether the last loop's results are right.
  virtual bool correct() = 0;
};

// Something that must hold on this machine; `run` throws DeviceError where it does not. `refused`:
// why these devices cannot be asked for it; empty where they can.
struct SelfTest {
  std::string name;
  std::function<void()> run;
  std::string refused = {};
};

class Engine : public devices::Backend {
 public:
  virtual int count() const = 0;  // of devices

  // Why it cannot be made or timed so; nothing where it can.
  virtual std::optional<std::string> refuses(const Copy& copy,
                                             records::TransferMethod method) const = 0;
  virtual std::optional<std::string> refuses(records::LaunchMethod method) const = 0;
  virtual std::optional<std::string> refuses_overlap() const = 0;
  virtual std::optional<std::string> refuses_loops(records::Memory memory, Runner runner) const = 0;

  // Until clocks have risen.
  virtual void warm_up(double seconds) = 0;

  virtual std::unique_ptr<CopySet> open(std::span<const Copy> copies) = 0;
  virtual std::unique_ptr<Launches> launches(int device, int arguments) = 0;
  virtual std::unique_ptr<Overlaps> overlaps(int device, std::int64_t bytes) = 0;
  virtual std::unique_ptr<Skeleton> skeleton(const StepShape& shape) = 0;
  virtual std::unique_ptr<TracedSteps> traced_steps(const TracedProgram& program) = 0;
  // `bytes`: of each array.
  virtual std::unique_ptr<HostLoops> host_loops(int device, records::Memory memory,
                                                std::int64_t bytes) = 0;

  // What was found out on the way about where host memory lies, an object each: `gpu`, `memory`,
  // `wanted` (NUMA node), `obtained` (null: the system does not say).
  virtual std::vector<nlohmann::ordered_json> placements() const { return {}; }

  // Tests of what measurements rely on; the engine must outlive them.
  virtual std::vector<SelfTest> self_tests() { return {}; }
};

// CPU threads as devices; 0: one for each core.
std::unique_ptr<Engine> host_engine(int count);

// This machine's GPUs; nothing, and the reason, where there are none.
std::unique_ptr<Engine> cuda_engine(std::string& why_not);

}  // namespace gpucast::microbench
