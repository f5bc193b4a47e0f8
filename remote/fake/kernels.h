// Kernels that the fake driver runs on the host. They come from shared libraries that
// GPUCAST_FAKE_KERNELS names (separated by colons), each with a function
//
//   extern "C" void gpucast_fake_contents(gpucast::fake::Contents& contents);
//
// which appends them, by the name that a kernel has in its source, with template arguments and
// without namespaces: "saxpy", "empty<double, double>".
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gpucast::fake {

struct Shape {
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned shared = 0;  // bytes

  std::size_t threads() const {
    std::size_t result = 1;
    for (std::size_t k = 0; k < 3; ++k)
      result *= std::size_t{grid[k]} * block[k];
    return result;
  }
};

struct Parameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// Does the work of all threads of a launch; throwing is what an illegal access is on a GPU.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::function<void(const Shape&, const std::vector<const void*>& arguments)> run;
};

// A variable of the device, where the kernels of the library have it.
struct Variable {
  std::string name;
  void* data = nullptr;
  std::size_t bytes = 0;
};

struct Contents {
  std::vector<Kernel> kernels;
  std::vector<Variable> variables;
};
using ContentsFunction = void (*)(Contents& contents);
inline constexpr const char* contents_function = "gpucast_fake_contents";

// A kernel from a host function of the same arguments, behind the launch's shape.
template <class... Arguments>
Kernel kernel(std::string name, void (*function)(const Shape&, Arguments...)) {
  Kernel result{.name = std::move(name), .parameters = {}, .run = {}};
  std::size_t end = 0;
  [[maybe_unused]] const auto place = [&]<class T>(const T*) {
    end = (end + alignof(T) - 1) / alignof(T) * alignof(T);
    result.parameters.push_back({end, sizeof(T)});
    end += sizeof(T);
  };
  (place(static_cast<const Arguments*>(nullptr)), ...);
  result.run = [function](const Shape& shape, const std::vector<const void*>& arguments) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      function(shape, *static_cast<const Arguments*>(arguments[k])...);
    }(std::index_sequence_for<Arguments...>());
  };
  return result;
}

}  // namespace gpucast::fake
