// Jacobi's relaxation on a square grid of n cells, its rows shared out to GPUs that exchange their
// border rows through the host, in pinned or pageable memory. A step is four sweeps.
#include <array>
#include <utility>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr int sweeps = 4;
constexpr unsigned threads = 256;  // of a block

// The mean of the four neighbours. The rows lie between two more that belong to the neighbours; the
// outermost columns do not change.
__global__ void relax(double* next, const double* now, int rows, int side) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) + side;
  const int column = i % side;
  if (i >= (rows + 1) * side || column == 0 || column == side - 1) return;
  next[i] = 0.25 * (now[i - side] + now[i + side] + now[i - 1] + now[i + 1]);
}

std::vector<double> start(int side) {
  std::vector<double> grid(static_cast<std::size_t>(side + 2) * static_cast<std::size_t>(side));
  for (std::size_t k = 0; k < grid.size(); ++k)
    grid[k] = random_of(static_cast<std::uint32_t>(k), 0);
  return grid;
}

// Border rows on the host, one upwards and one downwards, of two sweeps: those of the previous
// sweep may still be on their way when the next ones arrive.
class Rows {
 public:
  Rows(bool pinned, std::size_t side)
      : side_(side), pageable_(pinned ? 0 : 4 * side), pinned_(pinned ? 4 * side : 1) {}

  double* row(int sweep, int upwards) {
    double* const first = pageable_.empty() ? pinned_.data() : pageable_.data();
    return first +
           (static_cast<std::size_t>(sweep % 2) * 2 + static_cast<std::size_t>(upwards)) * side_;
  }

 private:
  std::size_t side_;
  std::vector<double> pageable_;
  PinnedArray<double> pinned_;
};

// A GPU and its own rows.
struct Part {
  Part(int device, int first_row, int row_count, int side, bool pinned)
      : gpu(device),
        first(first_row),
        rows(row_count),
        borders(pinned, static_cast<std::size_t>(side)) {
    check(cudaSetDevice(gpu), "cudaSetDevice");
    stream = Stream::independent();
    for (auto& grid : grids)
      grid =
          DeviceArray<double>(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(side));
  }

  int gpu, first, rows;  // rows: without the two borders
  Rows borders;
  Stream stream;
  std::array<DeviceArray<double>, 2> grids;
};

class HaloExchange : public Program {
 public:
  explicit HaloExchange(const Cell& cell)
      : side_(side_of(cell.n, 16)), row_bytes_(static_cast<std::size_t>(side_) * sizeof(double)) {
    for (int gpu = 0; gpu < cell.gpus; ++gpu) {
      const int first = side_ * gpu / cell.gpus;
      const int rows = side_ * (gpu + 1) / cell.gpus - first;
      parts_.push_back(std::make_unique<Part>(gpu, first, rows, side_, cell.setting == "pinned"));
    }
    begin();
  }

  void step() override {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (const auto& part : parts_)
        relax_and_send(*part, sweep);
      wait();
      if (parts_.size() == 1) continue;
      for (std::size_t k = 0; k < parts_.size(); ++k)
        receive(k, sweep);
    }
    if (parts_.size() > 1) wait();
  }

  std::string wrong() override {
    begin();
    step();
    auto expected = start(side_);
    auto before = expected;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      std::swap(expected, before);
      for (int i = side_; i < (side_ + 1) * side_; ++i) {
        if (i % side_ == 0 || i % side_ == side_ - 1) continue;
        const auto k = static_cast<std::size_t>(i);
        const auto row = static_cast<std::size_t>(side_);
        expected[k] = 0.25 * (before[k - row] + before[k + row] + before[k - 1] + before[k + 1]);
      }
    }
    for (const auto& part : parts_) {
      const auto grid = grid_of(*part);
      for (std::size_t k = static_cast<std::size_t>(side_);
           k + static_cast<std::size_t>(side_) < grid.size(); ++k) {
        if (grid[k] != expected[k + static_cast<std::size_t>(part->first * side_)])
          return "cell " + std::to_string(k) + " of GPU " + std::to_string(part->gpu);
      }
    }
    return "";
  }

 private:
  void use(const Part& part) const {
    if (parts_.size() > 1) check(cudaSetDevice(part.gpu), "cudaSetDevice");
  }
  void copy(void* to, const void* from, cudaMemcpyKind kind, const Part& part) const {
    check(cudaMemcpyAsync(to, from, row_bytes_, kind, part.stream.get()), "cudaMemcpyAsync");
  }
  static double* row(Part& part, int sweep, int index, int side) {
    return part.grids.at(static_cast<std::size_t>((sweep + 1) % 2)).data() +
           static_cast<std::ptrdiff_t>(index) * side;
  }

  // Its first row goes to the GPU above, its last to the one below.
  void relax_and_send(Part& part, int sweep) {
    use(part);
    const auto now = static_cast<std::size_t>(sweep % 2);
    relax<<<blocks_of(std::int64_t{part.rows} * side_, threads), threads, 0, part.stream.get()>>>(
        part.grids.at(1 - now).data(), part.grids.at(now).data(), part.rows, side_);
    check(cudaGetLastError(), "launch of relax");
    if (part.gpu > 0)
      copy(part.borders.row(sweep, 1), row(part, sweep, 1, side_), cudaMemcpyDeviceToHost, part);
    if (part.gpu + 1 < std::ssize(parts_)) {
      copy(part.borders.row(sweep, 0), row(part, sweep, part.rows, side_), cudaMemcpyDeviceToHost,
           part);
    }
  }
  void receive(std::size_t k, int sweep) {
    Part& part = *parts_[k];
    use(part);
    if (k > 0) {
      copy(row(part, sweep, 0, side_), parts_[k - 1]->borders.row(sweep, 0), cudaMemcpyHostToDevice,
           part);
    }
    if (k + 1 < parts_.size()) {
      copy(row(part, sweep, part.rows + 1, side_), parts_[k + 1]->borders.row(sweep, 1),
           cudaMemcpyHostToDevice, part);
    }
  }
  void wait() const {
    for (const auto& part : parts_) {
      use(*part);
      check(cudaStreamSynchronize(part->stream.get()), "cudaStreamSynchronize");
    }
  }
  // Both grids are set: a sweep does not write all of a grid.
  void begin() {
    const auto grid = start(side_);
    for (const auto& part : parts_) {
      check(cudaSetDevice(part->gpu), "cudaSetDevice");
      for (const auto& on_gpu : part->grids) {
        check(cudaMemcpy(on_gpu.data(),
                         grid.data() + static_cast<std::ptrdiff_t>(part->first) * side_,
                         on_gpu.bytes(), cudaMemcpyHostToDevice),
              "cudaMemcpy");
      }
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }
  std::vector<double> grid_of(Part& part) const {
    use(part);
    const auto& last = part.grids.at(sweeps % 2);
    std::vector<double> grid(last.size());
    check(cudaMemcpy(grid.data(), last.data(), last.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return grid;
  }

  int side_;
  std::size_t row_bytes_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<HaloExchange>(cell); }
const About about{
    .name = "halo-exchange",
    .what =
        "Four sweeps over a grid of n cells whose rows are shared out to GPUs; borders go "
        "through the host's pinned or pageable memory.",
    .unit = "cells",
    .sizes = "16384,262144,4194304",
    .settings = {"pinned", "pageable"},
    .most_gpus = 16};

}  // namespace gpucast::trace
