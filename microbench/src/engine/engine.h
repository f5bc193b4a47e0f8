// Devices that copies and work run on.
#pragma once

#include <functional>
#include <memory>

#include "copies/copy.h"
#include "engine/loop.h"
#include "engine/skeleton.h"
#include "engine/traced_steps.h"
#include "gpucast/devices/backend.h"
#include "gpucast/support/errors.h"

namespace gpucast::microbench {

using support::DeviceError;

// Concurrent copies with buffers of their own. The sent data is known, and destinations hold
// something else before.
class CopySet : public support::Interface {
 public:
  // Switches to the next hardware queue, since these differ.
  virtual void next_queue() {}
  // Seconds of the first copy as its caller waits for it (blocking); the others rest.
  virtual double call() = 0;
  // Seconds, by the device's clock, of `count` copies of the first kind in a row, all queued before
  // the first begins, while the others are in progress. Copies of one kind (route and size) are
  // timed until all have made `count` each: those that alternate on one engine end one after the
  // other. 0: of an empty sample.
  virtual double gated(int count) = 0;
  // The same for an empty kernel and the first copy, `count` times, each followed by another kernel
  // that waits for it and that the next copy waits for; or for the kernels alone. The difference is
  // the time that a copy adds to dependent work. `before` copies and kernels come first and are not
  // timed: work that begins to wait while the gate is closed waits less than work that follows
  // other work.
  enum class Payload { copies, nothing };
  virtual double between_kernels(int count, Payload payload, int before) = 0;
  // The size of a gated sample: copies that take `seconds`, so that the clock's resolution, and the
  // staggered start of concurrent copies, matter little; but at most `most`, since queues are
  // finite.
  struct Batch {
    double seconds = 100e-6;
    int most = 32;
  };
  virtual Batch batch() const { return {}; }
  // Whether every copy's data arrived unchanged. To be called after the copies.
  virtual bool correct() = 0;
};

// Empty kernels on one device.
class Launches : public support::Interface {
 public:
  virtual void next_queue() {}  // like that of copies
  // Seconds that the caller of `count` waits, with an empty queue.
  virtual double submit(int count) = 0;
  virtual double sync(int count) = 0;  // seconds until `count` have run; 0: of an empty wait
  // Seconds of `count` by the device's clock; 0: of an empty sample.
  virtual double gated(int count) = 0;
  virtual double graph(int count) = 0;  // seconds until a graph of `count` nodes has run
};

// A copy up, a copy down and a kernel on one device, each as long as the longer copy alone.
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
  // Seconds until the loop has run, as its caller waits. A GPU accesses mapped memory directly and
  // otherwise copies of the arrays.
  virtual double loop(LoopPattern pattern, Runner runner) = 0;
  // Whether the last loop's results are right.
  virtual bool correct() = 0;
};

// A property that must hold on this machine; `run` throws DeviceError if it does not. `refused`:
// why it cannot be tested on these devices; empty if it can.
struct SelfTest {
  std::string name;
  std::function<void()> run;
  std::string refused = {};
};

class Engine : public devices::Backend {
 public:
  virtual int count() const = 0;  // of devices

  // Returns why the copy cannot be made or timed in this way; nothing if it can.
  virtual std::optional<std::string> refuses(const Copy& copy,
                                             records::TransferMethod method) const = 0;
  virtual std::optional<std::string> refuses(records::LaunchMethod method) const = 0;
  virtual std::optional<std::string> refuses_overlap() const = 0;
  virtual std::optional<std::string> refuses_loops(records::Memory memory, Runner runner) const = 0;

  // Runs until clocks have risen.
  virtual void warm_up(double seconds) = 0;

  virtual std::unique_ptr<CopySet> open(std::span<const Copy> copies) = 0;
  virtual std::unique_ptr<Launches> launches(int device, int arguments) = 0;
  virtual std::unique_ptr<Overlaps> overlaps(int device, std::int64_t bytes) = 0;
  virtual std::unique_ptr<Skeleton> skeleton(const StepShape& shape) = 0;
  virtual std::unique_ptr<TracedSteps> traced_steps(const TracedProgram& program) = 0;
  // `bytes`: of each array.
  virtual std::unique_ptr<HostLoops> host_loops(int device, records::Memory memory,
                                                std::int64_t bytes) = 0;

  // What is known about the placement of host memory, an object each: `gpu`, `memory`, `wanted`
  // (NUMA node), `obtained` (null: unknown).
  virtual std::vector<nlohmann::ordered_json> placements() const { return {}; }

  // Tests of the properties that measurements rely on; the engine must outlive them.
  virtual std::vector<SelfTest> self_tests() { return {}; }
};

// CPU threads as devices; 0: one per core.
std::unique_ptr<Engine> host_engine(int count);

// This machine's GPUs; nothing, and the reason, if there are none.
std::unique_ptr<Engine> cuda_engine(std::string& why_not);

}  // namespace gpucast::microbench
