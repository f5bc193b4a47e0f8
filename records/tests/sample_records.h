// One record of every kind, with every field set.
#pragma once

#include "gpucast/records/records.h"

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

inline Measurement timed() {
  return {.machine = "m",
          .path = "native",
          .seconds = {0.1, 1.0 / 3, 5e-324},
          .caveat = "beside\nothers"};
}

inline Transfer transfer() {
  return {
      .memory = Memory::write_combined,
      .engine = Engine::kernel,
      .route = Route::d2h,
      .from = "gpu0",
      .to = "host",
      .bytes = 1LL << 40,
      .concurrent = {{.from = "host", .to = "gpu1", .bytes = 1024}, {.from = "gpu1", .to = "gpu2"}},
      .method = TransferMethod::gated,
      .issuer = "gpu0",
      .valid = false};
}

inline Step step() {
  return {.schedule = Schedule::star_async,
          .kernel = "tuned",
          .n = 100000,
          .gpus = 4,
          .block = 128,
          .memory = Memory::pinned,
          .graph = true,
          .boundary = "periodic",
          .bytes = StepBytes{.h2d = 6400000, .d2h = 1600000, .exchange = 0},
          .phases = {{.h2d = 1e-4, .kernel = 2e-3, .d2h = 1e-4, .cpu = 0, .exchange = 1e-5},
                     {.h2d = 0, .kernel = 2e-3, .d2h = 1e-4, .cpu = 0, .exchange = 0}},
          .energy_drift = -1e-9};
}

inline Note note() {
  return {.text = "skipped: 8 GPUs asked for, 4 found",
          .machine = "m",
          .path = "native",
          .about = nlohmann::ordered_json{{"n", 1000}, {"gpus", 8}, {"reason", nullptr}}};
}

inline std::vector<nlohmann::ordered_json> all() {
  const Launch launch{.method = LaunchMethod::gated, .count = 100, .arguments = 0};
  const Overlap overlap{.memory = Memory::pinned,
                        .device = "gpu0",
                        .bytes = 1 << 26,
                        .parts = {OverlapPart::h2d, OverlapPart::kernel}};
  const Skeleton skeleton{.schedule = Schedule::star_async,
                          .memory = Memory::pinned,
                          .gpus = 4,
                          .h2d_bytes = 1 << 20,
                          .d2h_bytes = 3 << 16,
                          .busy = 5e-5,
                          .kernel_seconds = 5.4e-5};
  const HostMemory host_memory{.memory = Memory::mapped_write_combined,
                               .pattern = "simple",
                               .runner = "cpu",
                               .phase = "loop",
                               .bytes = 50000000};
  return {to_json(machine()),
          to_json(transfer(), timed()),
          to_json(launch, timed()),
          to_json(step(), timed()),
          to_json(overlap, timed()),
          to_json(skeleton, timed()),
          to_json(host_memory, timed()),
          to_json(note())};
}

}  // namespace gpucast::records::sample
