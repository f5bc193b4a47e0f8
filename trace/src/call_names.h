// Names of CUDA's calls, and which of them are not worth a record.
#pragma once

#include <string>
#include <string_view>

namespace gpucast::trace {

// `cudaMemcpyAsync_ptsz_v7000` is cudaMemcpyAsync, `cuMemcpyHtoDAsync_v2` is cuMemcpyHtoDAsync.
std::string plain_name(std::string_view cupti_name);

// Whether a call (by its plain name) tells nothing about a path: it returns at once, asks nothing
// of a GPU, and no way of forwarding calls sends it anywhere. Some programs make several of them
// for each launch, and a record costs more than such a call.
bool always_local(std::string_view plain_name);

}  // namespace gpucast::trace
