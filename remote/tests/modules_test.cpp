// What a client's modules may take of its server process.
#include "server/modules.h"

#include <cuda.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gpucast::remote::server
