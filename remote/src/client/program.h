// What the program registers before main: its GPU code, and the host symbols that stand for it.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/status.h"
#include "images/fat_binary.h"
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
  bool present = true;
  std::deque<Function> functions;  // elements keep their addresses
  std::deque<Variable> variables;

  // Returns the bytes that its own header announces, or none if it is no fat binary.
  Bytes bytes() const {
    if (image == nullptr) return {};
    images::Container container;
    std::memcpy(&container, image, sizeof container);
    return {static_cast<const std::byte*>(image), images::container_bytes(container)};
  }
  // Returns the digest of these bytes, which is computed once for all GPUs.
  const Digest& sha256() const {
    std::call_once(hashed_, [this] { sha256_ = remote::sha256(bytes()); });
    return sha256_;
  }

 private:
  mutable std::once_flag hashed_;
  mutable Digest sha256_{};
};

class Program {
 public:
  FatBinary& add(const void* wrapper) {
    Wrapper given{};
    std::memcpy(&given, wrapper, sizeof given);
    const std::unique_lock lock(mutex_);
    auto& binary = binaries_[++last_id_] = std::make_unique<FatBinary>();
    binary->id = last_id_;
    if (given.magic == wrapper_magic) binary->image = given.image;
    return *binary;
  }
  // Removes it from all(); what belongs to it can still be found.
  void leave(FatBinary& binary) {
    const std::unique_lock lock(mutex_);
    binary.present = false;
  }
  void remove(FatBinary& binary) {
    const std::unique_lock lock(mutex_);
    for (const Function& function : binary.functions) {
      functions_.erase(function.host);
      functions_.erase(&function);
    }
    for (const Variable& variable : binary.variables)
      variables_.erase(variable.host);
    binaries_.erase(binary.id);
  }
  // Returns them in the order of their registration.
  std::vector<const FatBinary*> all() const {
    const std::shared_lock lock(mutex_);
    std::vector<const FatBinary*> result;
    for (const auto& [id, binary] : binaries_)
      if (binary->present) result.push_back(binary.get());
    return result;
  }
  void add_function(FatBinary& binary, const void* host, const char* name) {
    const std::unique_lock lock(mutex_);
    const Function& added =
        binary.functions.emplace_back(Function{.binary = &binary, .host = host, .name = name});
    functions_[host] = &added;
    functions_[&added] = &added;
  }
  void add_variable(FatBinary& binary, const void* host, const char* name, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    const Variable& added = binary.variables.emplace_back(
        Variable{.binary = &binary, .host = host, .name = name, .bytes = bytes});
    variables_[host] = &added;
  }

  // Finds a kernel by its host symbol or by its own address; nullptr if there is none.
  const Function* function(const void* host) const { return find(functions_, host); }
  const Variable* variable(const void* host) const { return find(variables_, host); }

 private:
  // The structure that nvcc's code registers, and what it points to.
  struct Wrapper {
    std::uint32_t magic;
    std::uint32_t version;
    const void* image;
    const void* names;
  };
  static constexpr std::uint32_t wrapper_magic = 0x466243b1;

  template <class Found>
  const Found* find(const std::unordered_map<const void*, const Found*>& all,
                    const void* host) const {
    const std::shared_lock lock(mutex_);
    const Found* const* const known = value_at(all, host);
    return known == nullptr ? nullptr : *known;
  }

  mutable std::shared_mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<FatBinary>> binaries_;  // by id
  std::unordered_map<const void*, const Function*> functions_;
  std::unordered_map<const void*, const Variable*> variables_;
};

}  // namespace gpucast::remote::client
