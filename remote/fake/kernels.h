// Kernels that the fake driver runs on the host. They come from shared libraries that
// GPUCAST_FAKE_KERNELS names (separated by colons), each with a function
//
//   extern "C" void gpucast_fake_contents(gpucast::fake::Contents& contents);
//
// which appends the kernels. Each has its name in the source, with template arguments and without
// namespaces: "saxpy", "empty<double, double>".
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

// Does the work of all threads of a launch. An exception stands for an illegal access on a GPU.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::function<void(const Shape&, const std::vector<const void*>& arguments)> run;
};

// A variable of the device, at its address in the kernels' library.
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

// Makes a kernel from a host function that takes the launch's shape and then the kernel's
// arguments.
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
