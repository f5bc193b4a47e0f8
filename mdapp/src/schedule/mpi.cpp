#include "schedule/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schedule/processes.h"
#include "schedule/timed.h"

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

class Communicator {
 public:
  // A communicator of the processes that pass `member`; a null one on the others.
  explicit Communicator(bool member) {
    check(
        MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, rank_in(MPI_COMM_WORLD), &comm_),
        "MPI_Comm_split");
  }
  // A communicator of the processes on this one's host.
  static Communicator of_host() {
    Communicator host;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_in(MPI_COMM_WORLD),
                              MPI_INFO_NULL, &host.comm_),
          "MPI_Comm_split_type");
    return host;
  }
  ~Communicator() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Communicator(Communicator&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  MPI_Comm get() const { return comm_; }
  bool member() const { return comm_ != MPI_COMM_NULL; }
  int rank() const { return rank_in(comm_); }
  int size() const {
    int size = 0;
    check(MPI_Comm_size(comm_, &size), "MPI_Comm_size");
    return size;
  }

  static int rank_in(MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    return rank;
  }

 private:
  Communicator() = default;

  MPI_Comm comm_ = MPI_COMM_NULL;
};

class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) {
      int provided = 0;
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    host_ = std::make_unique<Communicator>(Communicator::of_host());
  }
  ~MpiProcesses() override {
    host_.reset();
    MPI_Finalize();
  }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  double agree(double value) override {
    check(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return value;
  }
  std::int64_t add_up(std::int64_t value) override {
    check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD),
          "MPI_Allreduce");
    return value;
  }
  int on_host() const override { return host_->size(); }
  int rank_on_host() const override { return host_->rank(); }
  int saying_on_host(const std::string& text) override {
    using Words = std::array<char, 64>;
    Words mine{};
    text.copy(mine.data(), mine.size() - 1);
    std::vector<Words> all(static_cast<std::size_t>(on_host()));
    constexpr int bytes = sizeof(Words);
    check(MPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, host_->get()),
          "MPI_Allgather");
    return static_cast<int>(std::ranges::count(all, mine));
  }
  void abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  int rank_ = 0;
  int size_ = 1;
  std::unique_ptr<Communicator> host_;  // freed before MPI ends
};

class Mpi : public ForceSchedule {
 public:
  Mpi(Engine& engine, const System& system, const ScheduleOptions& options)
      : comm_(Communicator::rank_in(MPI_COMM_WORLD) < options.gpus) {
    const auto n = static_cast<std::size_t>(system.n());
    positions_ = engine.array<Position>(n, Memory::pinned);
    forces_ = engine.array<Force>(n, Memory::pinned);
    sums_ = engine.array<PairSums>(n, Memory::pinned);
    const int local = Communicator::of_host().rank();  // asked by all, also by those left out
    slice_ = {system.n(), 0};
    if (!comm_.member()) return;
    for (int rank = 0; rank < options.gpus; ++rank) {
      const Slice slice = slice_of(system.n(), options.gpus, rank);
      count_.push_back(slice.count);
      first_.push_back(slice.first);
    }
    slice_ = slice_of(system.n(), options.gpus, comm_.rank());
    const auto devices = static_cast<int>(engine.devices().size());
    device_ = engine.open(local % devices, workload(system, options, slice_));
    if (options.graph) {
      Device* const own = device_.get();
      recording_ = engine.record({&own, 1}, [this] { queue_all(); });
    }
  }

  Slice integrates() const override { return slice_; }
  std::span<Position> positions() override { return positions_.span(); }
  std::span<Force> forces() override { return forces_.span(); }

  void compute() override {
    if (!comm_.member()) return;
    exchange_positions();
    if (recording_) {
      recording_->replay();
    } else {
      queue_all();
    }
    device_->wait();
  }

  Phases compute_in_phases() override {
    if (!comm_.member()) return {};
    const auto begin = std::chrono::steady_clock::now();
    exchange_positions();
    const std::chrono::duration<double> exchange = std::chrono::steady_clock::now() - begin;
    timed::upload(*device_, positions());
    timed::compute(*device_);
    timed::download(*device_, own(forces()));
    device_->wait();
    return {.h2d = timed::h2d(*device_),
            .kernel = timed::kernel(*device_),
            .d2h = timed::d2h(*device_),
            .exchange = exchange.count()};
  }

  std::span<const PairSums> compute_sums() override {
    if (!comm_.member()) return sums_.span();
    exchange_positions();
    device_->upload(positions());
    device_->compute(Output::forces_and_sums);
    device_->download(own(sums_.span()));
    device_->wait();
    return sums_.span();
  }

  void gather(System& system) override {
    if (!comm_.member()) return;
    all_gather(system.r.data(), 3, MPI_DOUBLE);
    all_gather(system.v.data(), 3, MPI_DOUBLE);
  }

  void add_up(std::span<std::int64_t> sums) override {
    add_up(sums.data(), sums.size(), MPI_INT64_T);
  }
  void add_up(std::span<double> sums) override { add_up(sums.data(), sums.size(), MPI_DOUBLE); }

  std::vector<Traffic> traffic() const override {
    if (!device_) return {};
    Traffic traffic = device_->traffic();
    traffic.exchange = exchanged_;
    return {traffic};
  }

 private:
  template <class T>
  std::span<T> own(std::span<T> all) const {
    return all.subspan(static_cast<std::size_t>(slice_.first),
                       static_cast<std::size_t>(slice_.count));
  }

  void queue_all() {
    device_->upload(positions());
    device_->compute(Output::forces);
    device_->download(own(forces()));
  }

  void exchange_positions() {
    // A position is four floats.
    all_gather(positions().data(), 4, MPI_FLOAT);
    exchanged_ += static_cast<std::int64_t>(sizeof(Position)) *
                  (static_cast<std::int64_t>(positions().size()) - slice_.count);
  }

  // In place: every process's slice, `each` values a particle, to all the others.
  void all_gather(void* data, int each, MPI_Datatype type) {
    MPI_Datatype particle = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(each, type, &particle), "MPI_Type_contiguous");
    check(MPI_Type_commit(&particle), "MPI_Type_commit");
    const int status = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count_.data(),
                                      first_.data(), particle, comm_.get());
    MPI_Type_free(&particle);
    check(status, "MPI_Allgatherv");
  }

  void add_up(void* data, std::size_t size, MPI_Datatype type) {
    if (!comm_.member()) return;
    check(MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(size), type, MPI_SUM, comm_.get()),
          "MPI_Allreduce");
  }

  Communicator comm_;
  HostArray<Position> positions_;
  HostArray<Force> forces_;
  HostArray<PairSums> sums_;
  std::vector<int> count_;
  std::vector<int> first_;
  Slice slice_;
  std::int64_t exchanged_ = 0;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Recording> recording_;  // last: it refers to the device, and goes first
};

}  // namespace

bool started_by_mpi_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

std::unique_ptr<Processes> join_processes() { return std::make_unique<MpiProcesses>(); }

std::unique_ptr<ForceSchedule> mpi_schedule(Engine& engine, const System& system,
                                            const ScheduleOptions& options) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) {
    throw std::invalid_argument("schedule mpi: start with mpirun or srun, or with --schedule mpi");
  }
  return std::make_unique<Mpi>(engine, system, options);
}

}  // namespace gpucast::mdapp
