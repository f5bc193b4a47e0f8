#include "client/program.h"

#include <cstring>

namespace gpucast::remote::client {
namespace {

// What nvcc's registration hands over, and what it points to.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* image;
  const void* names;
};
constexpr std::uint32_t wrapper_magic = 0x466243b1;

struct Container {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // of what follows the header
};
constexpr std::uint32_t container_magic = 0xba55ed50;

}  // namespace

Bytes FatBinary::bytes() const {
  if (image == nullptr) return {};
  Container container{};
  std::memcpy(&container, image, sizeof container);
  if (container.magic != container_magic) return {};
  return {static_cast<const std::byte*>(image), container.header_bytes + container.bytes};
}

FatBinary& Program::add(const void* wrapper) {
  auto owned = std::make_unique<FatBinary>();
  Wrapper given{};
  std::memcpy(&given, wrapper, sizeof given);
  if (given.magic == wrapper_magic) owned->image = given.image;
  const std::unique_lock lock(mutex_);
  owned->id = ++last_id_;
  FatBinary& result = *owned;
  binaries_[&result] = std::move(owned);
  return result;
}

void Program::remove(FatBinary& binary) {
  const std::unique_lock lock(mutex_);
  for (const Function& each : binary.functions) {
    functions_.erase(each.host);
    functions_.erase(&each);
  }
  for (const Variable& each : binary.variables)
    variables_.erase(each.host);
  binaries_.erase(&binary);
}

void Program::add_function(FatBinary& binary, const void* host, const char* name) {
  const std::unique_lock lock(mutex_);
  const Function& added =
      binary.functions.emplace_back(Function{.binary = &binary, .host = host, .name = name});
  functions_[host] = &added;
  functions_[&added] = &added;
}

void Program::add_variable(FatBinary& binary, const void* host, const char* name) {
  const std::unique_lock lock(mutex_);
  const Variable& added =
      binary.variables.emplace_back(Variable{.binary = &binary, .host = host, .name = name});
  variables_[host] = &added;
}

}  // namespace gpucast::remote::client
