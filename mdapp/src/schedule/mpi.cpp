#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "gpucast/devices/clock.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {
namespace {

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(std::string(call) + ": " +
                           std::string(text, static_cast<std::size_t>(length)));
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

bool initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

// Freed with its last owner; MPI_COMM_NULL on processes that do not take part.
using Communicator = std::shared_ptr<const MPI_Comm>;

Communicator owned(MPI_Comm comm) {
  return {new MPI_Comm(comm), [](MPI_Comm* own) {
            if (*own != MPI_COMM_NULL) MPI_Comm_free(own);
            delete own;
          }};
}

// The communicator of the processes that pass `member`.
Communicator communicator_of(bool member) {
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, rank_in(MPI_COMM_WORLD), &comm),
        "MPI_Comm_split");
  return owned(comm);
}

// The communicator of the processes on this one's host.
Communicator communicator_of_host() {
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_in(MPI_COMM_WORLD),
                            MPI_INFO_NULL, &comm),
        "MPI_Comm_split_type");
  return owned(comm);
}

class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    if (!initialized()) {
      int provided = 0;
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    host_ = communicator_of_host();
  }
  ~MpiProcesses() override {
    host_.reset();
    MPI_Finalize();
  }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int rank() const override { return rank_in(MPI_COMM_WORLD); }
  int size() const override { return size_of(MPI_COMM_WORLD); }
  double agree(double value) override {
    check(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return value;
  }
  std::string agree_text(std::string text) override {
    text.resize(static_cast<std::size_t>(agree(static_cast<double>(text.size()))));
    check(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, MPI_COMM_WORLD),
          "MPI_Bcast");
    return text;
  }
  std::int64_t add_up(std::int64_t value) override {
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD),
          "MPI_Allreduce");
    return value;
  }
  int on_host() const override { return size_of(*host_); }
  int rank_on_host() const override { return rank_in(*host_); }
  int saying_on_host(const std::string& text) override {
    using Words = std::array<char, 64>;
    Words mine{};
    text.copy(mine.data(), mine.size() - 1);
    std::vector<Words> all(static_cast<std::size_t>(on_host()));
    constexpr int bytes = sizeof(Words);
    check(MPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, *host_),
          "MPI_Allgather");
    return static_cast<int>(std::ranges::count(all, mine));
  }
  void abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  Communicator host_;  // freed before MPI ends
};

// A star in each process that takes part, of one device and its slice.
class Mpi : public Star {
 public:
  Mpi(Engine& engine, const System& system, const ScheduleOptions& options,
      std::span<const Place> places, Communicator comm)
      : Star(engine, system, options, Devices(engine, system, options, places)),
        comm_(std::move(comm)),
        slice_(places.empty() ? Slice{system.n(), 0} : places.front().slice) {
    for (int rank = 0; rank < options.gpus; ++rank) {
      const Slice slice = slice_of(system.n(), options.gpus, rank);
      count_.push_back(slice.count);
      first_.push_back(slice.first);
    }
  }

  Slice integrates() const override { return slice_; }

  void compute() override {
    exchange_positions();
    Star::compute();
  }

  Phases compute_in_phases() override {
    const auto begin = devices::Clock::now();
    exchange_positions();
    const double exchange = devices::seconds_since(begin);
    Phases phases = Star::compute_in_phases();
    if (takes_part()) phases.exchange = exchange;
    return phases;
  }

  std::span<const PairSums> compute_sums() override {
    exchange_positions();
    return Star::compute_sums();
  }

  void gather(System& system) override {
    all_gather(system.r.data(), 3, MPI_DOUBLE);
    all_gather(system.v.data(), 3, MPI_DOUBLE);
  }

  void add_up(std::span<std::int64_t> sums) override {
    add_up(sums.data(), sums.size(), MPI_INT64_T);
  }
  void add_up(std::span<double> sums) override { add_up(sums.data(), sums.size(), MPI_DOUBLE); }

  std::vector<Traffic> traffic() const override {
    auto traffic = Star::traffic();
    for (Traffic& own : traffic)
      own.exchange = exchanged_;
    return traffic;
  }

 private:
  bool takes_part() const { return *comm_ != MPI_COMM_NULL; }

  void exchange_positions() {
    // A position is four floats.
    all_gather(positions().data(), 4, MPI_FLOAT);
    exchanged_ += static_cast<std::int64_t>(sizeof(Position)) *
                  (static_cast<std::int64_t>(positions().size()) - slice_.count);
  }

  // In place: sends every process's slice, `each` values per particle, to all the others.
  void all_gather(void* data, int values, MPI_Datatype type) {
    if (!takes_part()) return;
    MPI_Datatype particle = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(values, type, &particle), "MPI_Type_contiguous");
    check(MPI_Type_commit(&particle), "MPI_Type_commit");
    const int status = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count_.data(),
                                      first_.data(), particle, *comm_);
    MPI_Type_free(&particle);
    check(status, "MPI_Allgatherv");
  }

  void add_up(void* data, std::size_t size, MPI_Datatype type) {
    if (!takes_part()) return;
    check(MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(size), type, MPI_SUM, *comm_),
          "MPI_Allreduce");
  }

  Communicator comm_;
  Slice slice_;
  std::vector<int> count_;
  std::vector<int> first_;
  std::int64_t exchanged_ = 0;
};

}  // namespace

bool started_by_mpi_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(variable) != nullptr) return true;
  return false;
}

std::unique_ptr<Processes> join_processes() { return std::make_unique<MpiProcesses>(); }

std::unique_ptr<Star> mpi_schedule(Engine& engine, const System& system,
                                   const ScheduleOptions& options) {
  if (!initialized())
    throw std::invalid_argument("schedule mpi: start with mpirun or srun, or with --schedule mpi");
  const int rank = rank_in(MPI_COMM_WORLD);
  const int rank_on_host = rank_in(*communicator_of_host());  // a collective call of all processes
  std::vector<Place> places;
  if (rank < options.gpus) {
    places.push_back({.device = rank_on_host % static_cast<int>(engine.devices().size()),
                      .slice = slice_of(system.n(), options.gpus, rank)});
  }
  return std::make_unique<Mpi>(engine, system, options, places,
                               communicator_of(rank < options.gpus));
}

}  // namespace gpucast::mdapp
