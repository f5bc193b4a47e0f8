// What was measured of a cell, as a record; all but where it was measured (machine and path).
#pragma once

#include "gpucast/records/records.h"
#include "measure/cell.h"
#include "measure/sample.h"

namespace gpucast::microbench {

records::Transfer record_of(const TransferCell& cell, const Samples& samples);
records::Launch record_of(const LaunchCell& cell, std::vector<double> seconds);
records::Overlap record_of(const OverlapCell& cell, std::vector<double> seconds);
records::Skeleton record_of(const SkeletonCell& cell, double kernel_seconds,
                            std::vector<double> seconds);
records::HostMemory record_of(const HostMemoryCell& cell, std::vector<double> seconds);

}  // namespace gpucast::microbench
