// Devices that bytes are copied to and work is started on.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "copies/copy.h"
#include "gpucast/devices/error.h"
#include "gpucast/records/records.h"

namespace gpucast::microbench {

using devices::DeviceError;

// Copies that are under way together, with buffers of their own. What is sent is known, and
// destinations hold something else before.
class CopySet {
 public:
  CopySet() = default;
  CopySet(const CopySet&) = delete;
  CopySet& operator=(const CopySet&) = delete;
  virtual ~CopySet() = default;

  // Seconds that the caller of the first copy waits for it, blocking; the others rest.
  virtual double call() = 0;
  // Seconds, by the device's clock, of `count` of the first copy, one behind the other, all queued
  // before the first begins, with the others under way all the while. 0: of nothing at all.
  virtual double gated(int count) = 0;
  // The same of the first copy alone, but each ends, as an event behind it sees, before the next
  // begins: what devices can do of several at a time is left out. With no bytes: of the ends alone.
  enum class Payload { copies, nothing };
  virtual double gated_one_by_one(int count, Payload payload) = 0;
  // Whether what arrived is what was sent, by every copy. For copies made before.
  virtual bool correct() = 0;
};

// Empty kernels of one device.
class Launches {
 public:
  Launches() = default;
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;
  virtual ~Launches() = default;

  virtual double submit() = 0;          // seconds that the caller of one launch waits, queue empty
  virtual double sync() = 0;            // seconds until one has run
  virtual double gated(int count) = 0;  // seconds of `count`, by the device's clock; 0: of nothing
  virtual double graph(int count) = 0;  // seconds until a graph of `count` nodes has run
};

// A copy up, a copy down and a kernel of one device, each as long as the longer copy alone.
class Overlaps {
 public:
  Overlaps() = default;
  Overlaps(const Overlaps&) = delete;
  Overlaps& operator=(const Overlaps&) = delete;
  virtual ~Overlaps() = default;
  // Seconds from the common start until all of `parts` have ended.
  virtual double together(std::span<const records::OverlapPart> parts) = 0;
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual std::string_view path() const = 0;  // "host" or "native"
  virtual std::vector<records::Gpu> devices() const = 0;
  virtual std::string driver() const = 0;  // versions; empty where there is none
  virtual std::string runtime() const = 0;
  virtual nlohmann::ordered_json topology() const = 0;  // an object, or null

  // Why it cannot be made or timed so; nothing where it can.
  virtual std::optional<std::string> refuses(const Copy& copy,
                                             records::TransferMethod method) const = 0;
  virtual std::optional<std::string> refuses_graphs() const = 0;
  virtual std::optional<std::string> refuses_gated_launches() const { return std::nullopt; }
  virtual std::optional<std::string> refuses_overlap() const = 0;

  // Until clocks have risen.
  virtual void warm_up(double seconds) = 0;

  virtual std::unique_ptr<CopySet> open(std::span<const Copy> copies) = 0;
  virtual std::unique_ptr<Launches> launches(int device, int arguments) = 0;
  virtual std::unique_ptr<Overlaps> overlaps(int device, std::int64_t bytes) = 0;
};

// CPU threads as devices; 0: one for each core.
std::unique_ptr<Engine> host_engine(int count);

// This machine's GPUs; nothing, and the reason, where there are none.
std::unique_ptr<Engine> cuda_engine(std::string& why_not);

}  // namespace gpucast::microbench
