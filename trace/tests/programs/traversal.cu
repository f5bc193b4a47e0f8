// Breadth-first search: a level is a memset of zero, a launch, and a read of four bytes, which tell
// whether there is another level.
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr std::uint32_t edges = 4;
constexpr int unseen = -1;

GPUCAST_TRACE_BOTH std::uint32_t neighbour(std::uint32_t vertex, std::uint32_t edge,
                                           std::uint32_t n) {
  return random_of(vertex, edge) % n;
}

__global__ void begin(int* levels, std::uint32_t n) {
  const std::uint32_t vertex = blockIdx.x * blockDim.x + threadIdx.x;
  if (vertex < n) levels[vertex] = vertex == 0 ? 0 : unseen;
}

__global__ void expand(int* levels, int* any, std::uint32_t n, int level) {
  const std::uint32_t vertex = blockIdx.x * blockDim.x + threadIdx.x;
  if (vertex >= n || levels[vertex] != level) return;
  for (std::uint32_t edge = 0; edge < edges; ++edge) {
    int* const other = levels + neighbour(vertex, edge, n);
    if (*other != unseen) continue;
    *other = level + 1;  // all threads that do so write the same value
    *any = 1;
  }
}

class Traversal : public Program {
 public:
  explicit Traversal(const Cell& cell) : n_(static_cast<std::uint32_t>(cell.n)), levels_(n_) {}

  void step() override {
    const unsigned blocks = blocks_of(n_, usual_threads);
    begin<<<blocks, usual_threads>>>(levels_.data(), n_);
    check_launch("begin");
    int any = 1;
    for (int level = 0; any != 0; ++level) {
      check(cudaMemset(any_.data(), 0, sizeof(int)), "cudaMemset");
      expand<<<blocks, usual_threads>>>(levels_.data(), any_.data(), n_, level);
      check_launch("expand");
      check(cudaMemcpy(&any, any_.data(), sizeof(int), cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
  }

  std::string wrong() override {
    step();
    std::vector<int> expected(n_, unseen);
    std::vector<std::uint32_t> queue{0};
    expected[0] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::uint32_t vertex = queue[next];
      for (std::uint32_t edge = 0; edge < edges; ++edge) {
        const std::uint32_t other = neighbour(vertex, edge, n_);
        if (expected[other] != unseen) continue;
        expected[other] = expected[vertex] + 1;
        queue.push_back(other);
      }
    }
    std::vector<int> levels(n_);
    to_host(levels, levels_);
    return levels == expected ? "" : "levels are wrong";
  }

 private:
  std::uint32_t n_;
  DeviceArray<int> levels_, any_{1};
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Traversal>(cell); }
const About about{.name = "traversal",
                  .what =
                      "A graph of n vertices with four edges each, level by level; after each the "
                      "host asks whether there was any.",
                  .unit = "vertices",
                  .sizes = "1024,65536,1048576"};

}  // namespace gpucast::trace
