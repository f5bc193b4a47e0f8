// Records of measurements, schema gpucast.record/1. Their fields are defined in
// python/gpucast/data/records.py; records_sample is checked against it.
//
// SI units. Optional fields that are not set (for JSON values: null) are left out of the line.
#pragma once

#include <chrono>
#include <cstdint>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpucast/schema/vocabulary.h"

namespace gpucast::records {

using schema::Engine;
using schema::LaunchMethod;
using schema::Memory;
using schema::OverlapPart;
using schema::Route;
using schema::Schedule;
using schema::TransferMethod;

struct Gpu {
  std::string name;
  std::optional<std::int64_t> sms = std::nullopt;    // streaming multiprocessors
  std::optional<std::int64_t> cores = std::nullopt;  // FP32 lanes of the whole GPU
  std::optional<double> clock_hz = std::nullopt;
  std::optional<std::int64_t> memory_bytes = std::nullopt;
  std::optional<std::int64_t> max_threads_per_sm = std::nullopt;
  std::optional<std::string> pci = std::nullopt;  // bus id
  nlohmann::ordered_json links = nullptr;         // an array: NVLink or other links
};

// The program that writes the records.
struct Tool {
  std::string name;
  std::optional<std::string> version = std::nullopt;
};

// The first line of every run; this_machine() fills in the host's part.
struct Machine {
  std::string id;  // other records refer to it
  std::optional<std::string> host = std::nullopt;
  std::optional<std::string> cpu = std::nullopt;
  std::optional<std::int64_t> cpu_cores = std::nullopt;
  std::optional<std::vector<Gpu>> gpus = std::nullopt;
  std::optional<std::string> driver = std::nullopt;
  std::optional<std::string> runtime = std::nullopt;
  std::optional<std::string> transport = std::nullopt;  // of calls to remote GPUs
  nlohmann::ordered_json topology = nullptr;            // an object of any content
  std::optional<Tool> tool = std::nullopt;
  std::optional<std::string> started = std::nullopt;  // UTC, ISO 8601 with Z
  std::optional<std::vector<std::string>> command = std::nullopt;
};

// Fields that all timed records share.
struct Measurement {
  std::string machine{};          // id of the machine record
  std::string path{};             // empty for loops over host memory
  std::vector<double> seconds{};  // raw samples, in the order measured
  std::optional<std::string> caveat = std::nullopt;
};

// A copy that ran at the same time as the timed one.
struct Copy {
  std::string from;
  std::string to;
  std::optional<std::int64_t> bytes = std::nullopt;
};

// Copies of one size over one route.
struct Transfer {
  Memory memory = Memory::unknown;  // of the host
  Engine engine = Engine::copy;
  Route route = Route::h2d;
  std::string from{};  // "host", "gpu0", ...
  std::string to{};
  std::int64_t bytes = 0;
  std::vector<Copy> concurrent{};  // empty if alone
  std::optional<TransferMethod> method = std::nullopt;
  // The GPU that issues a peer copy: the source writes, or the destination reads.
  std::optional<std::string> issuer = std::nullopt;
  bool valid = true;  // false: the copied bytes were wrong
};

// Times of starting kernels; a sample covers `count` launches.
struct Launch {
  LaunchMethod method = LaunchMethod::submit;
  std::int64_t count = 1;
  std::int64_t arguments = 0;  // the kernel's, 8 bytes each
};

// Seconds in the phases of one step; 0 where a phase did not occur.
struct Phases {
  double h2d = 0;
  double kernel = 0;  // launch and execution, of the slowest device
  double d2h = 0;
  double cpu = 0;       // integration on the host
  double exchange = 0;  // between GPUs or processes
};

// Bytes that one step moves, over all GPUs.
struct StepBytes {
  std::int64_t h2d = 0;
  std::int64_t d2h = 0;
  std::int64_t exchange = 0;
};

// Steps of one program: a size n on a number of GPUs.
struct Step {
  std::optional<Schedule> schedule = std::nullopt;  // these two are for the mini-app
  std::optional<std::string> kernel = std::nullopt;
  std::optional<std::string> program = std::nullopt;    // these two are for other programs
  std::optional<std::string> case_name = std::nullopt;  // field `case`: its setting
  std::int64_t n = 0;
  std::optional<std::string> unit = std::nullopt;  // what n counts; not set: particles
  std::int64_t gpus = 0;
  std::optional<std::int64_t> block = std::nullopt;    // threads a block
  std::optional<Memory> memory = std::nullopt;         // host memory of the step's copies
  std::optional<bool> graph = std::nullopt;            // launched as a CUDA graph
  std::optional<std::string> boundary = std::nullopt;  // not set: open box
  std::optional<StepBytes> bytes = std::nullopt;
  std::vector<Phases> phases{};  // of steps in between, each phase timed; may be empty
  std::optional<double> energy_drift = std::nullopt;  // relative, over the whole run
};

// Copies up, copies down and a kernel on one device, started together: the time until all end.
struct Overlap {
  Memory memory = Memory::unknown;
  std::string device{};
  std::int64_t bytes = 0;  // of each copy
  std::vector<OverlapPart> parts{};
};

// A step without its work: data to every GPU, a kernel that only keeps it busy, data back.
struct Skeleton {
  Schedule schedule = Schedule::star_serial;
  Memory memory = Memory::unknown;  // of the host
  std::int64_t gpus = 0;
  std::int64_t h2d_bytes = 0;  // to each GPU
  std::int64_t d2h_bytes = 0;  // from each GPU
  double busy = 0;             // s that the kernel was asked to keep each GPU busy
  double kernel_seconds = 0;   // duration with its start-up, measured by events
};

// One loop over host memory of one kind, run by the CPU or by a GPU.
struct HostMemory {
  Memory memory = Memory::pageable;
  std::string pattern{};
  std::string runner{};
  std::string phase{};
  std::optional<std::int64_t> bytes = std::nullopt;
};

// Information that is not a measurement: why a cell was skipped.
struct Note {
  std::string text;
  std::optional<std::string> machine = std::nullopt;
  std::optional<std::string> path = std::nullopt;
  nlohmann::ordered_json about = nullptr;  // an object of any content
};

// Return the record as RecordFile::write takes it. Throw std::invalid_argument, which names the
// field, for values outside the schema: no samples, a time that is not positive and finite, a count
// below 1, a label that is empty or has control characters.
nlohmann::ordered_json to_json(const Machine& machine);
nlohmann::ordered_json to_json(const Transfer& transfer, const Measurement& timed);
nlohmann::ordered_json to_json(const Launch& launch, const Measurement& timed);
nlohmann::ordered_json to_json(const Step& step, const Measurement& timed);
nlohmann::ordered_json to_json(const Overlap& overlap, const Measurement& timed);
nlohmann::ordered_json to_json(const Skeleton& skeleton, const Measurement& timed);
nlohmann::ordered_json to_json(const HostMemory& host_memory, const Measurement& timed);
nlohmann::ordered_json to_json(const Note& note);

// Returns a label unchanged. Throws std::invalid_argument like to_json.
std::string label(std::string_view field, std::string text);
// Throws std::invalid_argument unless it is an object whose numbers JSON can represent.
void require_object(std::string_view field, const nlohmann::ordered_json& value);

// The machine record's part that needs no GPU: host, processor, program, start.

// Describes the host, processor, program and start of this run. `id`: common to runs that belong
// together (records of one id count as one machine); empty: made of host, start and process number.
Machine this_machine(const Tool& tool, const std::vector<std::string>& command,
                     const std::string& id = "");

// Returns the processor's name from the text of /proc/cpuinfo; nothing if it has none (ARM).
std::optional<std::string> cpu_model(std::istream& cpuinfo);

// Cores that this process may run on, which a job scheduler or taskset may limit.
std::int64_t allowed_cores();

// 2025-01-31T12:00:00.250Z
std::string utc(std::chrono::system_clock::time_point moment);

}  // namespace gpucast::records
