#include "server/peer_memory.h"

#include <algorithm>
#include <vector>

#include "server/ranges.h"

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

CUresult PeerMemory::share(Address begin, std::uint64_t bytes, Shared& result) const {
  if (!key_) return CUDA_ERROR_NOT_SUPPORTED;
  // Several allocations may lie in what the driver has mapped at once, which is what is opened.
  CUdeviceptr mapped = 0;
  std::size_t mapped_bytes = 0;
  if (const CUresult status = driver_.cuMemGetAddressRange(&mapped, &mapped_bytes, begin);
      status != CUDA_SUCCESS)
    return status;
  CUipcMemHandle handle{};
  if (const CUresult status = driver_.cuIpcGetMemHandle(&handle, begin); status != CUDA_SUCCESS)
    return status;
  static_assert(sizeof handle == sizeof result.handle);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(handle.reserved), result.handle.size(),
              result.handle.begin());
  result.offset = begin - mapped;
  result.bytes = bytes;
  result.proof = prove(*key_, result);
  return CUDA_SUCCESS;
}

CUresult PeerMemory::attach(const Attach& call, Attached& result) {
  if (!key_) return CUDA_ERROR_NOT_SUPPORTED;
  const Shared& memory = call.memory;
  if (!same(memory.proof, prove(*key_, memory))) return CUDA_ERROR_NOT_PERMITTED;
  if (attached_.contains(call.id)) return CUDA_ERROR_INVALID_HANDLE;
  CUipcMemHandle handle{};
  std::ranges::copy(memory.handle, reinterpret_cast<std::uint8_t*>(handle.reserved));
  CUdeviceptr mapped = 0;
  const CUresult status =
      driver_.cuIpcOpenMemHandle(&mapped, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (status != CUDA_SUCCESS) return status;
  result.address = mapped + memory.offset;
  if (ranges_.contains(result.address)) {
    driver_.cuIpcCloseMemHandle(mapped);
    return CUDA_ERROR_ALREADY_MAPPED;
  }
  attached_[call.id] = result.address;
  ranges_[result.address] = {.bytes = memory.bytes, .mapped = mapped};
  return CUDA_SUCCESS;
}

bool PeerMemory::holds(Address address, std::uint64_t bytes) const {
  return holder(ranges_, address, bytes) != ranges_.end();
}

CUresult PeerMemory::detach(Id id) {
  const auto found = attached_.find(id);
  if (found == attached_.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto range = ranges_.extract(found->second);
  attached_.erase(found);
  return driver_.cuIpcCloseMemHandle(range.mapped().mapped);
}

void PeerMemory::detach_all() {
  for (const auto& [address, range] : ranges_)
    driver_.cuIpcCloseMemHandle(range.mapped);
  ranges_.clear();
  attached_.clear();
}

}  // namespace gpucast::remote::server
