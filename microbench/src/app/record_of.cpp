#include "app/record_of.h"

#include <utility>

namespace gpucast::microbench {

records::Transfer record_of(const TransferCell& cell, const Samples& samples) {
  const Copy& first = cell.copies.front();
  const bool by_host = first.from == host || first.to == host || first.staged;
  records::Transfer record;
  record.memory = by_host ? first.memory : records::Memory::unknown;
  record.engine = first.engine;
  record.route = route(first);
  record.from = place(first.from);
  record.to = place(first.to);
  record.bytes = first.bytes;
  for (std::size_t k = 1; k < cell.copies.size(); ++k) {
    const Copy& other = cell.copies[k];
    record.concurrent.push_back(
        {.from = place(other.from), .to = place(other.to), .bytes = other.bytes});
  }
  record.method = cell.method;
  if (record.route == records::Route::peer) record.issuer = place(issuer(first));
  record.valid = samples.valid;
  record.seconds = samples.seconds;
  return record;
}

records::Launch record_of(const LaunchCell& cell, std::vector<double> seconds) {
  records::Launch record;
  record.method = cell.method;
  record.count = cell.count;
  record.arguments = cell.arguments;
  record.seconds = std::move(seconds);
  return record;
}

records::Overlap record_of(const OverlapCell& cell, std::vector<double> seconds) {
  records::Overlap record;
  record.memory = records::Memory::pinned;
  record.device = place(cell.device);
  record.bytes = cell.bytes;
  record.parts = cell.parts;
  record.seconds = std::move(seconds);
  return record;
}

records::Skeleton record_of(const SkeletonCell& cell, double kernel_seconds,
                            std::vector<double> seconds) {
  records::Skeleton record;
  record.schedule = cell.shape.schedule;
  record.memory = cell.shape.memory;
  record.gpus = cell.shape.gpus();
  record.h2d_bytes = cell.shape.h2d_bytes;
  record.d2h_bytes = cell.shape.d2h_bytes;
  record.busy = cell.shape.busy;
  record.kernel_seconds = kernel_seconds;
  record.seconds = std::move(seconds);
  return record;
}

records::HostMemory record_of(const HostMemoryCell& cell, std::vector<double> seconds) {
  records::HostMemory record;
  record.memory = cell.memory;
  record.pattern = pattern_name(cell);
  record.runner = name(runner_of(cell));
  record.phase = name(cell.phase);
  record.bytes = cell.bytes;
  record.seconds = std::move(seconds);
  return record;
}

}  // namespace gpucast::microbench
