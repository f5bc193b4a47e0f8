// How long calls take, and what raw sockets between two processes of this machine carry.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gpucast::probe {

// By name, in SI units: seconds, bytes/second.
using Figures = std::map<std::string, double>;

// Medians of blocking 64-byte copies and of empty launches; bandwidth of pinned copies of `bytes`.
Figures measure_calls(std::size_t bytes);
// Blocking copies of pinned memory, `times` of each size either way, as a JSON object a line:
// route, bytes, seconds.
void print_copies(const std::vector<std::size_t>& sizes, int times);
// Copies of each size with the wait for them, either way, to pinned and to pageable memory: medians
// of `times`, as a JSON object a line: route, memory, bytes, seconds.
void print_copy_times(int times, const std::vector<std::size_t>& sizes);
// The same over 1, 2, 4... raw TCP connections on loopback, each with a thread that waits at either
// end: route, bytes, seconds by connections.
void print_socket_copies(int connections, int times, const std::vector<std::size_t>& sizes);
// Round trips of 64 bytes, and one-way streams over `connections` TCP connections on loopback at
// once.
Figures measure_sockets(std::size_t bytes, int connections);

}  // namespace gpucast::probe
