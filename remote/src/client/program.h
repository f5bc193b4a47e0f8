// What the program registers before main: its GPU code, and what in the host's code stands for it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/wire.h"

namespace gpucast::remote::client {

struct FatBinary;

struct Function {
  const FatBinary* binary = nullptr;
  const void* host = nullptr;
  std::string name = {};
  std::size_t index = 0;  // among its binary's
};

struct Variable {
  const FatBinary* binary = nullptr;
  const void* host = nullptr;
  std::string name = {};
  std::size_t bytes = 0;
};

struct FatBinary {
  std::uint64_t id = 0;
  const void* image = nullptr;
  std::deque<Function> functions;  // whose addresses stay
  std::deque<Variable> variables;

  // By its own header; empty where it is none.
  Bytes bytes() const;
};

class Program {
 public:
  FatBinary& add(const void* wrapper);
  void remove(FatBinary& binary);
  void add_function(FatBinary& binary, const void* host, const char* name);
  void add_variable(FatBinary& binary, const void* host, const char* name, std::size_t bytes);

  // By what stands for it in the host's code, or by itself; nullptr if there is none.
  const Function* function(const void* host) const;
  const Variable* variable(const void* host) const;

 private:
  mutable std::shared_mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<const FatBinary*, std::unique_ptr<FatBinary>> binaries_;
  std::unordered_map<const void*, const Function*> functions_;
  std::unordered_map<const void*, const Variable*> variables_;
};

}  // namespace gpucast::remote::client
