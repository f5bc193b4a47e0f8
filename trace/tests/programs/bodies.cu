// Gravity: four steps of time, two launches each, then a blocking copy of all positions.
#include <cmath>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr int steps_of_time = 4;
constexpr float short_time = 1e-3F;
constexpr float softening = 1e-2F;

__global__ void accelerate(float3* velocities, const float3* positions, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const float3 own = positions[i];
  float3 sum{0, 0, 0};
  for (int j = 0; j < n; ++j) {
    const float x = positions[j].x - own.x;
    const float y = positions[j].y - own.y;
    const float z = positions[j].z - own.z;
    const float inverse = rsqrtf(x * x + y * y + z * z + softening);
    const float weight = inverse * inverse * inverse / static_cast<float>(n);
    sum.x += weight * x;
    sum.y += weight * y;
    sum.z += weight * z;
  }
  velocities[i].x += short_time * sum.x;
  velocities[i].y += short_time * sum.y;
  velocities[i].z += short_time * sum.z;
}

__global__ void move(float3* positions, const float3* velocities, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  positions[i].x += short_time * velocities[i].x;
  positions[i].y += short_time * velocities[i].y;
  positions[i].z += short_time * velocities[i].z;
}

class Bodies : public Program {
 public:
  explicit Bodies(const Cell& cell)
      : n_(static_cast<int>(cell.n)),
        seen_(static_cast<std::size_t>(n_)),
        positions_(seen_.size()),
        velocities_(seen_.size()) {
    begin();
  }

  void step() override {
    const unsigned blocks = blocks_of(n_, usual_threads);
    for (int k = 0; k < steps_of_time; ++k) {
      accelerate<<<blocks, usual_threads>>>(velocities_.data(), positions_.data(), n_);
      check_launch("accelerate");
      move<<<blocks, usual_threads>>>(positions_.data(), velocities_.data(), n_);
      check_launch("move");
    }
    check(cudaMemcpy(seen_.data(), positions_.data(), seen_.bytes(), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
  }

  // Forces are pairwise: the centre stays where it is.
  std::string wrong() override {
    begin();
    const double before = centre();
    step();
    const double moved = std::abs(centre() - before);
    constexpr double rounding = 1e-6;
    return moved < rounding && changed_ != seen_[0].x ? "" : "the centre of mass moved";
  }

 private:
  void begin() {
    for (std::size_t i = 0; i < seen_.size(); ++i)
      seen_[i] = {number(3 * i), number(3 * i + 1), number(3 * i + 2)};
    changed_ = seen_[0].x;
    check(cudaMemcpy(positions_.data(), seen_.data(), seen_.bytes(), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    check(cudaMemset(velocities_.data(), 0, velocities_.bytes()), "cudaMemset");
  }
  double centre() {
    double sum = 0;
    for (std::size_t i = 0; i < seen_.size(); ++i)
      sum += seen_[i].x;
    return sum / n_;
  }
  static float number(std::size_t i) {
    constexpr float largest = 4294967296.0F;
    return static_cast<float>(random_of(static_cast<std::uint32_t>(i), 0)) / largest;
  }

  int n_;
  float changed_ = 0;
  PinnedArray<float3> seen_;
  DeviceArray<float3> positions_, velocities_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Bodies>(cell); }
const About about{.name = "bodies",
                  .what =
                      "n bodies that attract one another, four steps of time; then their positions "
                      "come to pinned memory.",
                  .unit = "bodies",
                  .sizes = "1024,8192,32768"};

}  // namespace gpucast::trace
