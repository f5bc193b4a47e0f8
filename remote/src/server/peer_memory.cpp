#include "server/peer_memory.h"

#include <fstream>

#include "protocol/ranges.h"
#include "security/secret.h"

namespace gpucast::remote::server {
namespace {

std::string random_content() {
  Key key;
  fill_random(key.bytes());
  return {key.bytes().begin(), key.bytes().end()};
}

// Returns the system's id of the host's present boot.
std::string boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Mac prove(const HostKey& key, const Shared& memory) {
  return key.sign(octets(packed(memory.handle, memory.offset, memory.bytes)));
}

}  // namespace

HostKey::HostKey() {
  const std::string path = own_file_path("gpucast-host-key");
  const std::string content = read_or_make_own_file(path, random_content);
  if (content.size() < Key::size) throw std::runtime_error(path + ": is too short");
  // A folder that several hosts share does not give them the same key.
  key_ = hmac_sha256(octets(content).first(Key::size), octets(boot()));
}

std::string HostKey::id() const {
  constexpr std::size_t bytes = 16;
  const Digest digest = sign(octets(std::string_view("the key's id")));
  return hex(std::span(digest).first(bytes));
}

Digest HostKey::sign(std::span<const std::uint8_t> message) const {
  return hmac_sha256(key_, message);
}

PeerMemory::PeerMemory(const Driver& driver, const std::optional<HostKey>& key) : driver_(driver) {
  if (driver.shares_memory()) key_ = key;
}

std::string PeerMemory::group() const { return key_ ? key_->id() : ""; }

Shared PeerMemory::share(Address begin, std::uint64_t bytes) const {
  if (!key_) throw DriverError(CUDA_ERROR_NOT_SUPPORTED);
  // The driver may have mapped several allocations together; the whole mapping is what is opened.
  CUdeviceptr mapped = 0;
  std::size_t mapped_bytes = 0;
  check(driver_.cuMemGetAddressRange(&mapped, &mapped_bytes, begin));
  CUipcMemHandle handle{};
  check(driver_.cuIpcGetMemHandle(&handle, begin));
  Shared result{.offset = begin - mapped, .bytes = bytes};
  static_assert(sizeof handle == sizeof result.handle);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(handle.reserved), result.handle.size(),
              result.handle.begin());
  result.proof = prove(*key_, result);
  return result;
}

Address PeerMemory::attach(const Attach& call) {
  if (!key_) throw DriverError(CUDA_ERROR_NOT_SUPPORTED);
  const Shared& memory = call.memory;
  if (!same(memory.proof, prove(*key_, memory))) throw DriverError(CUDA_ERROR_NOT_PERMITTED);
  if (attached_.contains(call.id)) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  CUipcMemHandle handle{};
  std::ranges::copy(memory.handle, reinterpret_cast<std::uint8_t*>(handle.reserved));
  CUdeviceptr mapped = 0;
  check(driver_.cuIpcOpenMemHandle(&mapped, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  const Address address = mapped + memory.offset;
  if (ranges_.contains(address)) {
    driver_.cuIpcCloseMemHandle(mapped);
    throw DriverError(CUDA_ERROR_ALREADY_MAPPED);
  }
  attached_[call.id] = address;
  ranges_[address] = {.bytes = memory.bytes, .mapped = mapped};
  return address;
}

bool PeerMemory::holds(Address address, std::uint64_t bytes) const {
  return holder(ranges_, address, bytes) != ranges_.end();
}

void PeerMemory::detach(Id id) {
  const auto attached = attached_.extract(id);
  if (!attached) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  const auto range = ranges_.extract(attached.mapped());
  check(driver_.cuIpcCloseMemHandle(range.mapped().mapped));
}

void PeerMemory::detach_all() {
  for (const auto& [address, range] : ranges_)
    driver_.cuIpcCloseMemHandle(range.mapped);
  ranges_.clear();
  attached_.clear();
}

}  // namespace gpucast::remote::server
