// Copies and memset. Compiled twice (default_stream.h).
#include <cuda_runtime_api.h>

#include "client/copies.h"
#include "client/default_stream.h"
#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

constexpr auto blocking = Waiting::blocking;
constexpr auto asynchronous = Waiting::asynchronous;

void* within(const void* host, std::size_t bytes, std::size_t offset) {
  const Global found = symbol(host);
  require_valid(offset <= found.bytes && bytes <= found.bytes - offset);
  return reinterpret_cast<void*>(found.address + offset);
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return entry<"cudaMemcpy">([&] { copy(to, from, row(bytes), kind, own(nullptr), blocking); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return entry<"cudaMemcpyAsync">(
      [&] { copy(to, from, row(bytes), kind, own(stream), asynchronous); });
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return entry<"cudaMemcpy2D">(
      [&] { copy(to, from, {to_pitch, from_pitch, width, height}, kind, own(nullptr), blocking); });
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return entry<"cudaMemcpy2DAsync">([&] {
    copy(to, from, {to_pitch, from_pitch, width, height}, kind, own(stream), asynchronous);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind kind) {
  return entry<"cudaMemcpyToSymbol">(
      [&] { copy(within(symbol, bytes, offset), from, row(bytes), kind, own(nullptr), blocking); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return entry<"cudaMemcpyToSymbolAsync">([&] {
    copy(within(symbol, bytes, offset), from, row(bytes), kind, own(stream), asynchronous);
  });
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind) {
  return entry<"cudaMemcpyFromSymbol">(
      [&] { copy(to, within(symbol, bytes, offset), row(bytes), kind, own(nullptr), blocking); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return entry<"cudaMemcpyFromSymbolAsync">([&] {
    copy(to, within(symbol, bytes, offset), row(bytes), kind, own(stream), asynchronous);
  });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return entry<"cudaMemset">([&] { set(to, value, bytes, bytes, 1, own(nullptr), blocking); });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return entry<"cudaMemsetAsync">(
      [&] { set(to, value, bytes, bytes, 1, own(stream), asynchronous); });
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  return entry<"cudaMemset2D">(
      [&] { set(to, value, pitch, width, height, own(nullptr), blocking); });
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return entry<"cudaMemset2DAsync">(
      [&] { set(to, value, pitch, width, height, own(stream), asynchronous); });
}

}  // extern "C"
