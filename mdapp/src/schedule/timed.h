// Marks around the phases of a step on one device.
#pragma once

#include "engine/device.h"

namespace gpucast::mdapp::timed {

enum Slot { h2d_begin, h2d_end, kernel_begin, kernel_end, d2h_begin, d2h_end };

inline double h2d(Device& device) { return device.seconds_between(h2d_begin, h2d_end); }
inline double kernel(Device& device) { return device.seconds_between(kernel_begin, kernel_end); }
inline double d2h(Device& device) { return device.seconds_between(d2h_begin, d2h_end); }

inline void upload(Device& device, std::span<const Position> positions) {
  device.mark(h2d_begin);
  device.upload(positions);
  device.mark(h2d_end);
}

inline void compute(Device& device) {
  device.mark(kernel_begin);
  device.compute(Output::forces);
  device.mark(kernel_end);
}

inline void download(Device& device, std::span<Force> forces) {
  device.mark(d2h_begin);
  device.download(forces);
  device.mark(d2h_end);
}

}  // namespace gpucast::mdapp::timed
