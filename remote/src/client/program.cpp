#include "client/program.h"

#include <cstring>

#include "images/fat_binary.h"

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

}  // namespace

Bytes FatBinary::bytes() const {
  if (image == nullptr) return {};
  images::Container container;
  std::memcpy(&container, image, sizeof container);
  return {static_cast<const std::byte*>(image), images::container_bytes(container)};
}

const Digest& FatBinary::sha256() const {
  std::call_once(hashed_, [this] { sha256_ = remote::sha256(bytes()); });
  return sha256_;
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
  present_[result.id] = &result;
  return result;
}

void Program::leave(FatBinary& binary) {
  const std::unique_lock lock(mutex_);
  present_.erase(binary.id);
}

std::vector<const FatBinary*> Program::all() const {
  const std::shared_lock lock(mutex_);
  std::vector<const FatBinary*> result;
  result.reserve(present_.size());
  for (const auto& [id, binary] : present_)
    result.push_back(binary);
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

void Program::add_variable(FatBinary& binary, const void* host, const char* name,
                           std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  const Variable& added = binary.variables.emplace_back(
      Variable{.binary = &binary, .host = host, .name = name, .bytes = bytes});
  variables_[host] = &added;
}

}  // namespace gpucast::remote::client
