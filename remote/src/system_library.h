// Functions of libraries that the system may have.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace gpucast::remote {

// The library is not on this machine, or not as it has to be, in one line that names it.
class MissingLibrary : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Both throw MissingLibrary.
inline void* open_library(const char* file) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw MissingLibrary(std::string(file) + " is not on this machine");
  return library;
}

template <class Function>
Function* find_function(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw MissingLibrary(std::string("no ") + name + " on this machine");
  return function;
}

}  // namespace gpucast::remote
