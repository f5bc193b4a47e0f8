// The devices of one process as one, each with its slice of the particles.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

// A device of an engine, and the slice that it computes.
struct Place {
  int device = 0;
  Slice slice;
};

class Devices {
 public:
  // As many as `options` wants, whose slices laid end to end are all particles.
  Devices(Engine& engine, const System& system, const ScheduleOptions& options);
  Devices(Engine& engine, const System& system, const ScheduleOptions& options,
          std::span<const Place> places);

  // body(device, slice) for one after the other.
  template <class Body>
  void each(Body body) const {
    for (std::size_t g = 0; g < all_.size(); ++g)
      body(*all_[g], slices_[g]);
  }

  std::span<Device* const> all() const { return all_; }

  // The same on each of them (engine/device.h).
  void upload(std::span<const Position> positions) const;
  void compute(Output output) const;
  void mark(int slot) const;
  void wait() const;
  std::vector<Traffic> traffic() const;

 private:
  std::vector<Slice> slices_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> all_;
};

// The slice's part of an array with `values` for each particle.
template <class T>
std::span<T> part(std::span<T> all, Slice slice, std::size_t values = 1) {
  return all.subspan(values * static_cast<std::size_t>(slice.first),
                     values * static_cast<std::size_t>(slice.count));
}

}  // namespace gpucast::mdapp
