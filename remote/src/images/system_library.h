// Functions of libraries that the system may have.
#pragma once

#include <dlfcn.h>

#include <string>

#include "images/zstandard.h"

namespace gpucast::remote::images {

// Both throw NoDecompressor.
inline void* open_library(const char* file) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NoDecompressor(std::string(file) + " is not on this machine");
  return library;
}

template <class Function>
Function* find_function(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw NoDecompressor(std::string("no ") + name + " on this machine");
  return function;
}

}  // namespace gpucast::remote::images
