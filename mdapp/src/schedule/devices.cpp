#include "schedule/devices.h"

#include "physics/pair.h"

namespace gpucast::mdapp {
namespace {

Workload workload(const System& system, const ScheduleOptions& options, Slice slice) {
  return {.n = system.n(),
          .cations = system.cations,
          .slice = slice,
          .devices = options.gpus,
          .field = force_field<float>(system.salt, system.boundary),
          .boundary = system.boundary.kind,
          .kernel = options.kernel,
          .copies = options.name == Schedule::star_serial ? Copies::blocking : Copies::queued};
}

std::vector<Place> one_a_slice(int n, int gpus) {
  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g)
    places.push_back({.device = g, .slice = slice_of(n, gpus, g)});
  return places;
}

}  // namespace

Devices::Devices(Engine& engine, const System& system, const ScheduleOptions& options)
    : Devices(engine, system, options, one_a_slice(system.n(), options.gpus)) {}

Devices::Devices(Engine& engine, const System& system, const ScheduleOptions& options,
                 std::span<const Place> places) {
  for (const Place& place : places) {
    slices_.push_back(place.slice);
    devices_.push_back(engine.open(place.device, workload(system, options, place.slice)));
    all_.push_back(devices_.back().get());
  }
}

void Devices::upload(std::span<const Position> positions) const {
  for (Device* device : all_)
    device->upload(positions);
}

void Devices::compute(Output output) const {
  for (Device* device : all_)
    device->compute(output);
}

void Devices::mark(int slot) const {
  for (Device* device : all_)
    device->mark(slot);
}

void Devices::wait() const {
  for (Device* device : all_)
    device->wait();
}

std::vector<Traffic> Devices::traffic() const {
  std::vector<Traffic> result;
  result.reserve(all_.size());
  for (const Device* device : all_)
    result.push_back(device->traffic());
  return result;
}

}  // namespace gpucast::mdapp
