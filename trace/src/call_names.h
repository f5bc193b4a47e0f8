// Names of CUDA's calls, and which of them are not worth a record.
#pragma once

#include <string>
#include <string_view>

namespace gpucast::trace {

// `cudaMemcpyAsync_ptsz_v7000` is cudaMemcpyAsync, `cuMemcpyHtoDAsync_v2` is cuMemcpyHtoDAsync.
std::string plain_name(std::string_view cupti_name);

// Which functions are recorded, by their plain names: of the runtime's, all but those that stay on
// the host; of the driver's, those that go beyond it. What stays on the host returns at once, asks
// nothing of a GPU, and no way of forwarding calls sends it anywhere. Some programs make several of
// such calls for each launch, and a record costs more than the call.
bool stays_on_host(std::string_view plain_name);
bool goes_beyond_host(std::string_view plain_name);

// Whether it launches one kernel.
bool launches_kernel(std::string_view plain_name);

// Whether it asks if work is done, and does not wait for it.
bool is_query(std::string_view plain_name);

}  // namespace gpucast::trace
