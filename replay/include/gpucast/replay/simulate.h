// A program of calls, made on a path: a simulation event by event. Host threads, streams, engines,
// and on forwarding paths wires and servers are what calls queue for; nothing is drawn at random.
#pragma once

#include <stdexcept>
#include <vector>

#include "gpucast/replay/path.h"
#include "gpucast/replay/program.h"

namespace gpucast::replay {

// Seconds since the first thread began, an entry a call.
struct Times {
  std::vector<double> begin;      // of the call, on the host
  std::vector<double> end;        // when it returns
  std::vector<double> work;       // when its work begins; not a number where it asks for none
  std::vector<double> work_done;  // when that ends
};

// std::invalid_argument where columns differ in length, name what is not there, or hold what is no
// time, and where calls wait for one another in a circle.
Times simulate(const Program& program, const Path& path);

}  // namespace gpucast::replay
