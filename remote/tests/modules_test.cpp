// What a client's modules may take of its server process.
#include "server/modules.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace gpucast::remote::server {
namespace {

TEST(Modules, TheImagesOfAllTogetherAreBounded) {
  const Driver driver(GPUCAST_TEST_LIBCUDA);
  Streams streams(driver);
  constexpr std::size_t most = 1000;
  Modules modules(driver, streams, most);
  const std::vector<std::byte> piece(400);
  const auto give = [&](Id module) {
    return status_of([&] { modules.run(ModulePiece{.module = module, .tail = {piece}}); });
  };
  EXPECT_EQ(give(20), CUDA_SUCCESS);
  EXPECT_EQ(give(21), CUDA_SUCCESS);
  EXPECT_EQ(give(21), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(give(22), CUDA_ERROR_OUT_OF_MEMORY);
  modules.run(ModuleUnload{.module = 20});
  EXPECT_EQ(give(22), CUDA_SUCCESS);
}

TEST(Modules, AreOnlyLoadedFromImagesAsLongAsTheySay) {
  const Driver driver(GPUCAST_TEST_LIBCUDA);
  driver.cuInit(0);
  Streams streams(driver);
  Modules modules(driver, streams, 1000);
  Id module = 20;
  const auto load = [&](std::uint64_t promised, std::size_t bytes) {
    const std::uint64_t head[] = {0x0010'0001'ba55'ed50, promised};
    std::vector<std::byte> image(bytes);
    if (bytes > 0) std::memcpy(image.data(), head, std::min(bytes, sizeof head));
    modules.run(ModulePiece{.module = ++module, .tail = {image}});
    return status_of([&] { modules.run(ModuleLoad{.module = module}); });
  };
  EXPECT_EQ(load(64, 80), CUDA_SUCCESS);
  EXPECT_EQ(load(0, 16), CUDA_SUCCESS);
  for (const std::uint64_t promised : {63U, 65U, 0U})
    EXPECT_EQ(load(promised, 80), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(std::uint64_t{1} << 60, 80), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(~std::uint64_t{0}, 80), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(0, 15), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(load(0, 0), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
}  // namespace gpucast::remote::server
