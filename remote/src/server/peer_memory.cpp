#include "server/peer_memory.h"

#include <algorithm>
#include <vector>

#include "protocol/ranges.h"

namespace gpucast::remote::server {
namespace {

Mac prove(const HostKey& key, const Shared& memory) {
  std::vector<std::byte> said;
  Writer writer(said);
  writer(memory.handle), writer(memory.offset), writer(memory.bytes);
  return key.sign({reinterpret_cast<const std::uint8_t*>(said.data()), said.size()});
}

}  // namespace

PeerMemory::PeerMemory(const Driver& driver, const std::optional<HostKey>& key) : driver_(driver) {
  if (driver.shares_memory()) key_ = key;
}

std::string PeerMemory::group() const { return key_ ? key_->id() : ""; }

Shared PeerMemory::share(Address begin, std::uint64_t bytes) const {
  if (!key_) throw DriverError(CUDA_ERROR_NOT_SUPPORTED);
  // Several allocations may lie in what the driver has mapped at once, which is what is opened.
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
