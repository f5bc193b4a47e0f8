// How a step moves data. A schedule computes the forces of a step on its devices; a Stepper makes
// whole steps.
#pragma once

#include "engine/engine.h"
#include "physics/integrator.h"
#include "physics/observables.h"

namespace gpucast::mdapp {

using schema::Schedule;

// Phases are timed in separate steps: marks and waits between them would slow the steps that are
// timed as a whole.
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
  // Opens the number of devices in `options`; their slices together are all particles.
  Devices(Engine& engine, const System& system, const ScheduleOptions& options);
  Devices(Engine& engine, const System& system, const ScheduleOptions& options,
          std::span<const Place> places);

  // Calls body(device, slice) for each in turn.
  template <class Body>
  void each(Body body) const {
    for (std::size_t g = 0; g < all_.size(); ++g)
      body(*all_[g], slices_[g]);
  }

  std::span<Device* const> all() const { return all_; }

  // Calls the device function (engine/device.h) on each of them.
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

// The slice's part of an array with several `values` per particle.
template <class T>
std::span<T> part(std::span<T> all, Slice slice, std::size_t values = 1) {
  return all.subspan(values * static_cast<std::size_t>(slice.first),
                     values * static_cast<std::size_t>(slice.count));
}

// The host in the middle: it integrates, writes positions() and reads forces(). All positions are
// sent to every device, and each returns a slice of the forces.
//
// star-serial, as in the paper: blocking copies and launches, one GPU after another; first all
// positions to each, then a launch on each, then the forces from each, which waits for its kernel.
// star-async: pinned memory and one stream per GPU, everything in progress at once.
class Star : public Reducer {
 public:
  Star(Engine& engine, const System& system, const ScheduleOptions& options)
      : Star(engine, system, options, Devices(engine, system, options)) {}
  Star(Engine& engine, const System& system, const ScheduleOptions& options, Devices devices);

  // The particles that this process integrates: it writes their positions() and reads their
  // forces().
  virtual Slice integrates() const { return {0, static_cast<int>(positions_.span().size())}; }
  std::span<Position> positions() { return positions_.span(); }  // all n
  std::span<Force> forces() { return forces_.span(); }           // all n
  virtual void compute();
  // The same with each phase marked; cpu stays 0.
  virtual Phases compute_in_phases();
  // Energies at positions() of the particles that this process integrates.
  virtual std::span<const PairSums> compute_sums();
  // Updates the particles that other processes integrate.
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
  std::function<void()> recorded_step_;  // last: it refers to the devices, and is destroyed first
};

// One process per GPU: each integrates its own slice on its host, and MPI_Allgatherv distributes
// positions. The first `options.gpus` processes take part, each with the device of its rank on its
// host; on the others the schedule does nothing. All processes must call it (after join_processes).
// Throws InputError in a program that was built without MPI.
std::unique_ptr<Star> mpi_schedule(Engine& engine, const System& system,
                                   const ScheduleOptions& options);

// The schedule that `options` names, except allgather, whose forces stay on the GPUs.
std::unique_ptr<Star> force_schedule(Engine& engine, const System& system,
                                     const ScheduleOptions& options);

// The processes of a run: one, unless it was started by mpirun or srun.
class Processes : public support::Interface {
 public:
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  // Returns the first process's value on all of them: decisions that depend on a clock are made
  // once.
  virtual double agree(double value) { return value; }
  virtual std::string agree_text(std::string text) { return text; }
  // Returns the sum of all processes' values, on all of them.
  virtual std::int64_t add_up(std::int64_t value) { return value; }
  // The number of processes on this one's host.
  virtual int on_host() const { return 1; }
  virtual int rank_on_host() const { return 0; }
  // Returns how many processes on this host pass the same text, of at most 63 bytes.
  virtual int saying_on_host(const std::string& /*text*/) { return 1; }
  // Ends all processes if one failed and the others would wait for it forever.
  virtual void abort(int /*status*/) {}
};

// Whether this process was started by an MPI launcher (Open MPI, MPICH, Slurm's srun --mpi).
bool started_by_mpi_launcher();

// Joins the other processes; MPI ends with the object. Throws InputError in a program that was
// built without MPI.
std::unique_ptr<Processes> join_processes();

// Steps of a simulation, wherever particles are integrated: the interface between schedules and the
// code that runs them (measuring, simulating, checking).
class Stepper : public support::Interface {
 public:
  // Makes `count` undisturbed steps, and returns the seconds of each. Throws Overlap and
  // DeviceError.
  virtual std::vector<double> steps(int count) = 0;
  // Makes one step with its phases timed.
  virtual Phases step_in_phases() = 0;
  // Returns the present positions on the host; with mpi, all of them on every process.
  virtual const System& system() = 0;
  // Returns the energies at the present positions. Changes nothing.
  virtual Potential potential() = 0;
  // Bytes moved since the start, by device.
  virtual std::vector<Traffic> traffic() const = 0;
};

// `engine` must outlive the stepper. Computes the forces at the start.
std::unique_ptr<Stepper> make_stepper(Engine& engine, System system,
                                      const IntegratorOptions& integrator,
                                      const ScheduleOptions& options);

// The result of make_stepper for the schedule in which the GPUs integrate.
std::unique_ptr<Stepper> allgather_stepper(Engine& engine, System system,
                                           const IntegratorOptions& integrator,
                                           const ScheduleOptions& options);

}  // namespace gpucast::mdapp
