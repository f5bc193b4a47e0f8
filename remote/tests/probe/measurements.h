// How long calls take, and the throughput of raw sockets between two processes of this machine.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gpucast::probe {

// By name, in SI units: seconds, bytes/second.
using Figures = std::map<std::string, double>;

// Returns medians of blocking 64-byte copies and of empty launches, and the bandwidth of pinned
// copies of `bytes`.
Figures measure_calls(std::size_t bytes);
// Times blocking copies of pinned memory, `times` of each size in both directions, and prints one
// JSON object per line: route, bytes, seconds.
void print_copies(const std::vector<std::size_t>& sizes, int times);
// Times copies of each size and the wait for them, in both directions, with pinned and pageable
// memory, and prints medians of `times` copies as one JSON object per line: route, memory, bytes,
// seconds.
void print_copy_times(int times, const std::vector<std::size_t>& sizes);
// The same over 1, 2, 4... raw TCP connections on loopback, each with a waiting thread at either
// end: route, bytes, seconds by connections.
void print_socket_copies(int connections, int times, const std::vector<std::size_t>& sizes);
// Measures round trips of 64 bytes, and one-way streams over `connections` TCP connections on
// loopback at once.
Figures measure_sockets(std::size_t bytes, int connections);

}  // namespace gpucast::probe
