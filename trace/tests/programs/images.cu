// Filters of images on two streams: pinned memory to the GPU, three passes, and back to pinned
// memory. The host waits only after both are queued.
#include <algorithm>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

using Pixel = unsigned char;
constexpr std::size_t streams = 2;
constexpr int passes = 3;

GPUCAST_TRACE_BOTH Pixel smoothed(const Pixel* image, std::int64_t i, std::int64_t n) {
  const int left = image[i > 0 ? i - 1 : i];
  const int right = image[i + 1 < n ? i + 1 : i];
  return static_cast<Pixel>((left + 2 * image[i] + right) / 4);
}

__global__ void smooth(Pixel* to, const Pixel* from, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = smoothed(from, i, n);
}

struct Image {
  explicit Image(std::size_t n, std::uint32_t seed)
      : stream(Stream::independent()), given(n), made(n), here(n), there(n) {
    for (std::size_t i = 0; i < n; ++i)
      given[i] = static_cast<Pixel>(random_of(static_cast<std::uint32_t>(i), seed));
  }
  Stream stream;
  PinnedArray<Pixel> given, made;
  DeviceArray<Pixel> here, there;
};

class Images : public Program {
 public:
  explicit Images(const Cell& cell) : n_(cell.n) {
    for (std::size_t k = 0; k < streams; ++k)
      images_.emplace_back(static_cast<std::size_t>(n_), static_cast<std::uint32_t>(k));
  }

  void step() override {
    for (Image& image : images_) {
      const auto stream = image.stream.get();
      queue_to_gpu(image.here.data(), image.given.data(), image.given.bytes(), stream);
      for (int pass = 0; pass < passes; ++pass) {
        const bool even = pass % 2 == 0;
        smooth<<<blocks_of(n_, usual_threads), usual_threads, 0, stream>>>(
            even ? image.there.data() : image.here.data(),
            even ? image.here.data() : image.there.data(), n_);
        check_launch("smooth");
      }
      queue_to_host(image.made.data(), image.there.data(), image.made.bytes(), stream);
    }
    for (const Image& image : images_)
      check(cudaStreamSynchronize(image.stream.get()), "cudaStreamSynchronize");
  }

  std::string wrong() override {
    step();
    for (Image& image : images_) {
      std::vector<Pixel> expected(image.given.data(), image.given.data() + n_);
      for (int pass = 0; pass < passes; ++pass) {
        const std::vector<Pixel> before = expected;
        for (std::int64_t i = 0; i < n_; ++i)
          expected[static_cast<std::size_t>(i)] = smoothed(before.data(), i, n_);
      }
      if (!std::equal(expected.begin(), expected.end(), image.made.data()))
        return "an image is wrong";
    }
    return "";
  }

 private:
  std::int64_t n_;
  std::vector<Image> images_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Images>(cell); }
const About about{.name = "images",
                  .what =
                      "Two images of n pixels, each to the GPU, through three filters, and back, "
                      "on a stream of its own.",
                  .unit = "pixels",
                  .sizes = "65536,1048576,16777216"};

}  // namespace gpucast::trace
