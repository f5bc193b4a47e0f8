// What the program registers before main: its GPU code, and what in the host's code stands for it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/wire.h"
#include "security/key.h"

namespace gpucast::remote::client {

struct FatBinary;

struct Function {
  const FatBinary* binary = nullptr;
  const void* host = nullptr;
  std::string name = {};
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
  // The digest of these bytes; computed once, for all GPUs.
  const Digest& sha256() const;

 private:
  mutable std::once_flag hashed_;
  mutable Digest sha256_{};
};

class Program {
 public:
  FatBinary& add(const void* wrapper);
  // It is not among all() any more; what follows from it is still known.
  void leave(FatBinary& binary);
  void remove(FatBinary& binary);
  // In the order in which they came.
  std::vector<const FatBinary*> all() const;
  void add_function(FatBinary& binary, const void* host, const char* name);
  void add_variable(FatBinary& binary, const void* host, const char* name, std::size_t bytes);

  // By what stands for it in the host's code, or by itself; nullptr if there is none.
  const Function* function(const void* host) const { return find(functions_, host); }
  const Variable* variable(const void* host) const { return find(variables_, host); }

 private:
  template <class Found>
  const Found* find(const std::unordered_map<const void*, const Found*>& all,
                    const void* host) const {
    const std::shared_lock lock(mutex_);
    const auto found = all.find(host);
    return found == all.end() ? nullptr : found->second;
  }

  mutable std::shared_mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::unordered_map<const FatBinary*, std::unique_ptr<FatBinary>> binaries_;
  std::map<std::uint64_t, const FatBinary*> present_;  // by id
  std::unordered_map<const void*, const Function*> functions_;
  std::unordered_map<const void*, const Variable*> variables_;
};

}  // namespace gpucast::remote::client
