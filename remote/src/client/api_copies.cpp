// Copies and memset, each with the default stream's two meanings.
#include <cuda_runtime_api.h>

#include "client/copies.h"
#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

constexpr auto blocking = Waiting::blocking;
constexpr auto asynchronous = Waiting::asynchronous;

Rows row(std::size_t bytes) {
  return {.to_pitch = bytes, .from_pitch = bytes, .width = bytes, .height = 1};
}

const void* within(const void* host, std::size_t bytes, std::size_t offset) {
  const Global found = symbol(host);
  if (offset > found.bytes || bytes > found.bytes - offset) throw Failure{cudaErrorInvalidValue};
  return reinterpret_cast<const void*>(found.address + offset);
}

cudaError_t to_symbol(const void* host, const void* from, std::size_t bytes, std::size_t offset,
                      cudaMemcpyKind kind, cudaStream_t stream, Waiting waiting) {
  return copy(const_cast<void*>(within(host, bytes, offset)), from, row(bytes), kind, stream,
              waiting);
}

cudaError_t from_symbol(void* to, const void* host, std::size_t bytes, std::size_t offset,
                        cudaMemcpyKind kind, cudaStream_t stream, Waiting waiting) {
  return copy(to, within(host, bytes, offset), row(bytes), kind, stream, waiting);
}

cudaError_t between(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                    cudaStream_t stream, Waiting waiting) {
  runtime().gpu(to_device);
  runtime().gpu(from_device);
  return copy(to, from, row(bytes), cudaMemcpyDeviceToDevice, stream, waiting);
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return entry<"cudaMemcpy">([&] { return copy(to, from, row(bytes), kind, nullptr, blocking); });
}
cudaError_t cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return entry<"cudaMemcpy">(
      [&] { return copy(to, from, row(bytes), kind, own(nullptr), blocking); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return entry<"cudaMemcpyAsync">(
      [&] { return copy(to, from, row(bytes), kind, stream, asynchronous); });
}
cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                 cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, kind, own(stream));
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return entry<"cudaMemcpy2D">([&] {
    return copy(to, from, {to_pitch, from_pitch, width, height}, kind, nullptr, blocking);
  });
}
cudaError_t cudaMemcpy2D_ptds(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind) {
  return entry<"cudaMemcpy2D">([&] {
    return copy(to, from, {to_pitch, from_pitch, width, height}, kind, own(nullptr), blocking);
  });
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return entry<"cudaMemcpy2DAsync">([&] {
    return copy(to, from, {to_pitch, from_pitch, width, height}, kind, stream, asynchronous);
  });
}
cudaError_t cudaMemcpy2DAsync_ptsz(void* to, std::size_t to_pitch, const void* from,
                                   std::size_t from_pitch, std::size_t width, std::size_t height,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, own(stream));
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) {
  return entry<"cudaMemcpyPeer">(
      [&] { return between(to, to_device, from, from_device, bytes, nullptr, blocking); });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  return entry<"cudaMemcpyPeerAsync">(
      [&] { return between(to, to_device, from, from_device, bytes, stream, asynchronous); });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind kind) {
  return entry<"cudaMemcpyToSymbol">(
      [&] { return to_symbol(symbol, from, bytes, offset, kind, nullptr, blocking); });
}
cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind) {
  return entry<"cudaMemcpyToSymbol">(
      [&] { return to_symbol(symbol, from, bytes, offset, kind, own(nullptr), blocking); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return entry<"cudaMemcpyToSymbolAsync">(
      [&] { return to_symbol(symbol, from, bytes, offset, kind, stream, asynchronous); });
}
cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, std::size_t bytes,
                                         std::size_t offset, cudaMemcpyKind kind,
                                         cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, own(stream));
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind) {
  return entry<"cudaMemcpyFromSymbol">(
      [&] { return from_symbol(to, symbol, bytes, offset, kind, nullptr, blocking); });
}
cudaError_t cudaMemcpyFromSymbol_ptds(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind) {
  return entry<"cudaMemcpyFromSymbol">(
      [&] { return from_symbol(to, symbol, bytes, offset, kind, own(nullptr), blocking); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return entry<"cudaMemcpyFromSymbolAsync">(
      [&] { return from_symbol(to, symbol, bytes, offset, kind, stream, asynchronous); });
}
cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, std::size_t bytes,
                                           std::size_t offset, cudaMemcpyKind kind,
                                           cudaStream_t stream) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, own(stream));
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return entry<"cudaMemset">([&] { return set(to, value, bytes, bytes, 1, nullptr, blocking); });
}
cudaError_t cudaMemset_ptds(void* to, int value, std::size_t bytes) {
  return entry<"cudaMemset">(
      [&] { return set(to, value, bytes, bytes, 1, own(nullptr), blocking); });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return entry<"cudaMemsetAsync">(
      [&] { return set(to, value, bytes, bytes, 1, stream, asynchronous); });
}
cudaError_t cudaMemsetAsync_ptsz(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return cudaMemsetAsync(to, value, bytes, own(stream));
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  return entry<"cudaMemset2D">(
      [&] { return set(to, value, pitch, width, height, nullptr, blocking); });
}
cudaError_t cudaMemset2D_ptds(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height) {
  return entry<"cudaMemset2D">(
      [&] { return set(to, value, pitch, width, height, own(nullptr), blocking); });
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return entry<"cudaMemset2DAsync">(
      [&] { return set(to, value, pitch, width, height, stream, asynchronous); });
}
cudaError_t cudaMemset2DAsync_ptsz(void* to, std::size_t pitch, int value, std::size_t width,
                                   std::size_t height, cudaStream_t stream) {
  return cudaMemset2DAsync(to, pitch, value, width, height, own(stream));
}

}  // extern "C"
