// The processes that a run is made of: one, unless it was started by mpirun or srun.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace gpucast::mdapp {

class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  virtual ~Processes() = default;
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

}  // namespace gpucast::mdapp
