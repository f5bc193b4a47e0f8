// gpucast-microbench's kernels for the fake driver, so that the program runs over remote GPUs where
// there is none.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "engine/loop.h"
#include "fake/kernels.h"

namespace {

using gpucast::fake::Contents;
using gpucast::fake::kernel;
using gpucast::fake::Shape;
using gpucast::microbench::Index;
using gpucast::microbench::loop_result;
using gpucast::microbench::pattern;

struct Wide {
  int part[4];
};

void spin(const Shape& /*shape*/, unsigned long long duration) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(duration));
}

template <class T>
void copy(const Shape& /*shape*/, T* to, const T* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

void fill(const Shape& /*shape*/, unsigned char* data, std::int64_t count, std::uint32_t seed) {
  for (std::int64_t k = 0; k < count; ++k)
    data[k] = pattern(static_cast<std::uint64_t>(k), seed);
}

void compare(const Shape& /*shape*/, const unsigned char* data, std::int64_t count,
             std::uint32_t seed, unsigned long long* wrong) {
  for (std::int64_t k = 0; k < count; ++k)
    if (data[k] != pattern(static_cast<std::uint64_t>(k), seed)) ++*wrong;
}

template <bool listed>
void loop(const Shape& /*shape*/, float* out, const float* in, const Index* list,
          std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    out[k] = loop_result(in[listed ? list[k] : k]);
}

// A remote GPU does not reach the flags; that it is there is all that is asked for.
void gate(const Shape& /*shape*/, const volatile int* /*flag*/, volatile int* /*timed_out*/,
          unsigned long long /*timeout*/) {
  throw std::logic_error("the gate was launched");
}

template <std::size_t>
using Argument = double;

template <class... Arguments>
void empty(const Shape& /*shape*/, Arguments... /*arguments*/) {}

template <std::size_t... k>
void add_empty(Contents& contents, std::index_sequence<k...> /*arguments*/) {
  std::string arguments;
  for (std::size_t each = 0; each < sizeof...(k); ++each)
    arguments += each == 0 ? "double" : ", double";
  contents.kernels.push_back(kernel("empty<" + arguments + ">", empty<Argument<k>...>));
}

template <std::size_t... count>
void add_all_empty(Contents& contents, std::index_sequence<count...> /*counts*/) {
  (add_empty(contents, std::make_index_sequence<count>()), ...);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void gpucast_fake_contents(Contents& contents) {
  contents.kernels.push_back(kernel("spin", spin));
  contents.kernels.push_back(kernel("copy_wide", copy<Wide>));
  contents.kernels.push_back(kernel("copy_bytes", copy<unsigned char>));
  contents.kernels.push_back(kernel("fill", fill));
  contents.kernels.push_back(kernel("compare", compare));
  contents.kernels.push_back(kernel("loop<false>", loop<false>));
  contents.kernels.push_back(kernel("loop<true>", loop<true>));
  contents.kernels.push_back(kernel("gate", gate));
  constexpr std::size_t most_arguments = 16;
  add_all_empty(contents, std::make_index_sequence<most_arguments + 1>());
}
