// How a step moves data. A schedule computes the forces of a step on its devices; a Stepper
// makes steps of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "gpucast/schema/vocabulary.h"
#include "gpucast/support/interface.h"
#include "physics/integrator.h"
#include "physics/observables.h"
#include "physics/particle.h"
#include "physics/system.h"

namespace gpucast::mdapp {

using schema::Schedule;

// They are timed in steps of their own: marks and waits between the phases would slow the steps
// that are timed as a whole.
using records::Phases;

struct ScheduleOptions {
  Schedule name = Schedule::star_serial;
  Memory memory = Memory::pageable;  // star-serial's choice; the others need pinned memory
  bool graph = false;
  int gpus = 1;
  KernelChoice kernel{};
};

// A device of an engine, and the slice that it computes.
struct Place {
  int device = 0;
  Slice slice;
};

// The devices of one process as one, each with its slice of the particles.
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
  void upload(std::span<const Position> positions) const {
    each([&](Device& device, Slice) { device.upload(positions); });
  }
  void compute(Output output) const {
    each([&](Device& device, Slice) { device.compute(output); });
  }
  void mark(int slot) const {
    each([&](Device& device, Slice) { device.mark(slot); });
  }
  void wait() const {
    each([](Device& device, Slice) { device.wait(); });
  }
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

// The host in the middle: it integrates, writes positions() and reads forces(). All positions go to
// every device, and a slice of the forces comes back from each.
//
// star-serial, as in the paper: blocking copies and launches, one GPU after another; first all
// positions to each, then a launch on each, then the forces from each, which waits for its kernel.
// star-async: pinned memory and one stream a GPU, everything under way at once.
class Star : public Reducer {
 public:
  Star(Engine& engine, const System& system, const ScheduleOptions& options)
      : Star(engine, system, options, Devices(engine, system, options)) {}
  Star(Engine& engine, const System& system, const ScheduleOptions& options, Devices devices);

  // The particles that this process integrates, of whose positions() it writes and forces() it
  // reads.
  virtual Slice integrates() const { return {0, static_cast<int>(positions_.span().size())}; }
  std::span<Position> positions() { return positions_.span(); }  // all n
  std::span<Force> forces() { return forces_.span(); }           // all n
  virtual void compute();
  // The same, each phase marked; cpu stays 0.
  virtual Phases compute_in_phases();
  // Energies at positions(): those of the particles that this process integrates.
  virtual std::span<const PairSums> compute_sums();
  // Brings the particles that other processes integrate up to date.
  virtual void gather(System& /*system*/) {}
  virtual std::vector<Traffic> traffic() const { return devices_.traffic(); }

 private:
  enum Phase { h2d, kernel, d2h };
  void queue_step(bool marked = false);

  bool serial_;
  HostArray<Position> positions_;
  HostArray<Force> forces_;
  HostArray<PairSums> sums_;
  Devices devices_;
  std::function<void()> recorded_step_;  // last: it refers to the devices, and goes first
};

// A process a GPU: each integrates its own slice on its host, and positions go round by
// MPI_Allgatherv. The first `options.gpus` processes take part, each with the device of its rank on
// its host; on the others the schedule does nothing. All processes must call it (join_processes
// first). InputError in a program that was built without MPI.
std::unique_ptr<Star> mpi_schedule(Engine& engine, const System& system,
                                   const ScheduleOptions& options);

// The one that `options` names: any but allgather, whose forces stay on the GPUs.
std::unique_ptr<Star> force_schedule(Engine& engine, const System& system,
                                     const ScheduleOptions& options);

// The processes that a run is made of: one, unless it was started by mpirun or srun.
class Processes : public support::Interface {
 public:
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  // The first process's value, on all of them: what depends on a clock is decided once.
  virtual double agree(double value) { return value; }
  virtual std::string agree_text(std::string text) { return text; }
  // The sum of all processes' values, on all of them.
  virtual std::int64_t add_up(std::int64_t value) { return value; }
  // Processes on this one's host, and which of them it is.
  virtual int on_host() const { return 1; }
  virtual int rank_on_host() const { return 0; }
  // How many of the processes on this host say the same; `text` of at most 63 bytes.
  virtual int saying_on_host(const std::string& /*text*/) { return 1; }
  // Ends all processes, where one failed and the others would wait for it forever.
  virtual void abort(int /*status*/) {}
};

// Whether this process was started by an MPI launcher (Open MPI, MPICH, Slurm's srun --mpi).
bool started_by_mpi_launcher();

// Joins the other processes; MPI ends with the object. InputError in a program that was built
// without MPI.
std::unique_ptr<Processes> join_processes();

// Steps of a simulation, wherever particles are integrated: the seam between schedules and what
// runs them (measuring, simulating, checking).
class Stepper : public support::Interface {
 public:
  // Makes `count` steps, undisturbed, and returns the seconds that each took. Throws Overlap and
  // DeviceError.
  virtual std::vector<double> steps(int count) = 0;
  // Makes one step with its phases timed.
  virtual Phases step_in_phases() = 0;
  // Where the particles are now, on the host; with mpi, all of them on every process.
  virtual const System& system() = 0;
  // Energies of where the particles are now. Changes nothing.
  virtual Potential potential() = 0;
  // Bytes moved since the start, by device.
  virtual std::vector<Traffic> traffic() const = 0;
};

// `engine` must outlive the stepper. Computes the forces at the start.
std::unique_ptr<Stepper> make_stepper(Engine& engine, System system,
                                      const IntegratorOptions& integrator,
                                      const ScheduleOptions& options);

// What make_stepper makes of the schedule in which the GPUs integrate.
std::unique_ptr<Stepper> allgather_stepper(Engine& engine, System system,
                                           const IntegratorOptions& integrator,
                                           const ScheduleOptions& options);

}  // namespace gpucast::mdapp
