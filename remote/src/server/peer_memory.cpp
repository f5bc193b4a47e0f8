#include "server/peer_memory.h"

#include <algorithm>
#include <vector>

namespace gpucast::remote {
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
  attached_[call.id] = mapped;
  result.address = mapped + memory.offset;
  return CUDA_SUCCESS;
}

CUresult PeerMemory::detach(Id id) {
  const auto found = attached_.find(id);
  if (found == attached_.end()) return CUDA_ERROR_INVALID_HANDLE;
  const CUdeviceptr mapped = found->second;
  attached_.erase(found);
  return driver_.cuIpcCloseMemHandle(mapped);
}

void PeerMemory::detach_all() {
  for (const auto& [id, mapped] : attached_)
    driver_.cuIpcCloseMemHandle(mapped);
  attached_.clear();
}

}  // namespace gpucast::remote
