// How a step moves data. A schedule computes the forces of a step on its devices; a Stepper
// (stepper.h) makes steps of them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "gpucast/schema/vocabulary.h"
#include "physics/integrator.h"
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

// The schedules in which the host integrates: it writes positions() and reads forces().
class ForceSchedule : public Reducer {
 public:
  // The particles that this process integrates, of whose positions() it writes and forces() it
  // reads.
  virtual Slice integrates() const = 0;
  virtual std::span<Position> positions() = 0;  // all n
  virtual std::span<Force> forces() = 0;        // all n
  virtual void compute() = 0;
  // The same, each phase marked; cpu stays 0.
  virtual Phases compute_in_phases() = 0;
  // Energies at positions(): those of the particles that this process integrates.
  virtual std::span<const PairSums> compute_sums() = 0;
  // Brings the particles that other processes integrate up to date.
  virtual void gather(System& /*system*/) {}
  virtual std::vector<Traffic> traffic() const = 0;
};

// star-serial or star-async (star.h).
std::unique_ptr<ForceSchedule> star(Engine& engine, const System& system,
                                    const ScheduleOptions& options);

// A process a GPU: each integrates its own slice on its host, and positions go round by
// MPI_Allgatherv. The first `options.gpus` processes take part, each with the device of its rank on
// its host; on the others the schedule does nothing. All processes must call it (join_processes
// first). InputError in a program that was built without MPI.
std::unique_ptr<ForceSchedule> mpi_schedule(Engine& engine, const System& system,
                                            const ScheduleOptions& options);

// The one that `options` names: any but allgather, whose forces stay on the GPUs.
std::unique_ptr<ForceSchedule> force_schedule(Engine& engine, const System& system,
                                              const ScheduleOptions& options);

}  // namespace gpucast::mdapp
