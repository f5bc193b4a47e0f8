// One record of every kind, with every field set.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "gpucast/records/records.h"
#include "gpucast/records/this_machine.h"

namespace gpucast::records::sample {

inline Machine machine() {
  Machine machine = this_machine({.name = "records_sample", .version = "0.1.0"},
                                 {"records_sample", "--text", "größe \"x\""});
  machine.gpus = {{.name = "NVIDIA H200",
                   .sms = 132,
                   .cores = 16896,
                   .clock_hz = 1.98e9,
                   .memory_bytes = 150121545728,
                   .max_threads_per_sm = 2048,
                   .pci = "0000:19:00.0",
                   .links = nlohmann::ordered_json::array({{{"to", "gpu1"}, {"lanes", 18}}})}};
  machine.driver = "580.95.05";
  machine.runtime = "13.0";
  machine.transport = "tls";
  machine.topology = nlohmann::ordered_json{{"numa", {0, 1}}, {"switch", true}};
  return machine;
}

template <class Measured>
Measured measured() {
  Measured record;
  record.machine = "m";
  record.seconds = {0.1, 1.0 / 3, 5e-324};
  record.caveat = "beside\nothers";
  return record;
}

inline Transfer transfer() {
  auto transfer = measured<Transfer>();
  transfer.path = "native";
  transfer.memory = Memory::write_combined;
  transfer.engine = Engine::kernel;
  transfer.route = Route::d2h;
  transfer.from = "gpu0";
  transfer.to = "host";
  transfer.bytes = 1LL << 40;
  transfer.concurrent = {{.from = "host", .to = "gpu1", .bytes = 1024},
                         {.from = "gpu1", .to = "gpu2"}};
  transfer.method = TransferMethod::gated;
  transfer.issuer = "gpu0";
  transfer.valid = false;
  return transfer;
}

inline Launch launch() {
  auto launch = measured<Launch>();
  launch.path = "native";
  launch.method = LaunchMethod::gated;
  launch.count = 100;
  launch.arguments = 0;
  return launch;
}

inline Step step() {
  auto step = measured<Step>();
  step.path = "native";
  step.schedule = Schedule::star_async;
  step.kernel = "tuned";
  step.n = 100000;
  step.gpus = 4;
  step.block = 128;
  step.memory = Memory::pinned;
  step.graph = true;
  step.boundary = "periodic";
  step.bytes = {.h2d = 6400000, .d2h = 1600000, .exchange = 0};
  step.phases = {{.h2d = 1e-4, .kernel = 2e-3, .d2h = 1e-4, .cpu = 0, .exchange = 1e-5},
                 {.h2d = 0, .kernel = 2e-3, .d2h = 1e-4, .cpu = 0, .exchange = 0}};
  step.energy_drift = -1e-9;
  return step;
}

inline Overlap overlap() {
  auto overlap = measured<Overlap>();
  overlap.path = "native";
  overlap.memory = Memory::pinned;
  overlap.device = "gpu0";
  overlap.bytes = 1 << 26;
  overlap.parts = {OverlapPart::h2d, OverlapPart::kernel};
  return overlap;
}

inline Skeleton skeleton() {
  auto skeleton = measured<Skeleton>();
  skeleton.path = "native";
  skeleton.schedule = Schedule::star_async;
  skeleton.memory = Memory::pinned;
  skeleton.gpus = 4;
  skeleton.h2d_bytes = 1 << 20;
  skeleton.d2h_bytes = 3 << 16;
  skeleton.busy = 5e-5;
  skeleton.kernel_seconds = 5.4e-5;
  return skeleton;
}

inline HostMemory host_memory() {
  auto host_memory = measured<HostMemory>();
  host_memory.memory = Memory::mapped_write_combined;
  host_memory.pattern = "simple";
  host_memory.runner = "cpu";
  host_memory.phase = "loop";
  host_memory.bytes = 50000000;
  return host_memory;
}

inline Note note() {
  return {.text = "skipped: 8 GPUs asked for, 4 found",
          .machine = "m",
          .path = "native",
          .about = nlohmann::ordered_json{{"n", 1000}, {"gpus", 8}, {"reason", nullptr}}};
}

inline std::vector<nlohmann::ordered_json> all() {
  return {to_json(machine()), to_json(transfer()), to_json(launch()),      to_json(step()),
          to_json(overlap()), to_json(skeleton()), to_json(host_memory()), to_json(note())};
}

}  // namespace gpucast::records::sample
