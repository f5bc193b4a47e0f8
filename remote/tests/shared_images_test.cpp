// GPU code sent by the protocol directly: which images the server has, and how it treats invalid
// ones.
#include <cuda.h>
#include <gtest/gtest.h>

#include "images/compression.h"
#include "security/key.h"
#include "server/modules.h"
#include "tests/sessions.h"

namespace gpucast::remote {
namespace {

// A container with its length and no content.
std::vector<std::byte> binary_of(std::size_t bytes, std::uint8_t content) {
  std::vector<std::byte> result(bytes, std::byte{content});
  const std::uint64_t head[] = {0x0010'0001'ba55'ed50, bytes - 16};
  std::memcpy(result.data(), head, sizeof head);
  return result;
}

class SharedImages : public Sessions {
 protected:
  static bool knows(Speaker& client, Id module, const std::vector<std::byte>& image) {
    const ModulesKnown question{
        .images = {{.module = module, .bytes = image.size(), .sha256 = sha256(image)}}};
    KnownModules answer;
    EXPECT_EQ(client.call(question, answer), 0U);
    EXPECT_EQ(answer.known.size(), 1U);
    return answer.known.at(0) == 1;
  }
  static std::vector<Status> load(Speaker& client, const std::vector<Id>& modules) {
    LoadedModules loaded;
    EXPECT_EQ(client.call(ModulesLoad{.modules = modules}, loaded), 0U);
    return loaded.statuses;
  }
};

TEST_F(SharedImages, TheNextClientFindsWhatOneHasLoaded) {
  const ServerProcess server(0);
  const auto image = binary_of(5000, 7);
  {
    Speaker first(server);
    EXPECT_FALSE(knows(first, 20, image));
    EXPECT_EQ(first.call(ModulePiece{.module = 20, .tail = {image}}), 0U);
    EXPECT_EQ(load(first, {20}), std::vector<Status>{0});
  }
  Speaker second(server);
  EXPECT_TRUE(knows(second, 30, image));
  EXPECT_EQ(load(second, {30}), std::vector<Status>{0});
  EXPECT_FALSE(knows(second, 31, binary_of(5000, 8)));
}

TEST_F(SharedImages, ArePutAwayUnderTheirOwnHashWhateverAClientSays) {
  const ServerProcess server(0);
  const auto wanted = binary_of(5000, 1);
  const auto sent = binary_of(5000, 2);
  Speaker liar(server);
  EXPECT_FALSE(knows(liar, 20, wanted));
  EXPECT_EQ(liar.call(ModulePiece{.module = 20, .tail = {sent}}), 0U);
  EXPECT_EQ(load(liar, {20}), std::vector<Status>{0});
  Speaker other(server);
  EXPECT_FALSE(knows(other, 20, wanted));
  EXPECT_TRUE(knows(other, 21, sent));
}

TEST_F(SharedImages, CodeThatTheDriverRefusesIsNotKept) {
  ::setenv("GPUCAST_FAKE_FAIL", "cuLibraryLoadData:1:200", 1);
  const ServerProcess server(0);
  const auto image = binary_of(5000, 7);
  Speaker first(server);
  EXPECT_EQ(first.call(ModulePiece{.module = 20, .tail = {image}}), 0U);
  EXPECT_EQ(load(first, {20}), std::vector<Status>{CUDA_ERROR_INVALID_IMAGE});
  EXPECT_FALSE(knows(first, 21, image));
}

TEST_F(SharedImages, EachModuleHasItsOwnStatus) {
  const ServerProcess server(0);
  Speaker client(server);
  std::vector<std::byte> longer = binary_of(5000, 7);
  longer.push_back(std::byte{0});
  EXPECT_EQ(client.call(ModulePiece{.module = 20, .tail = {binary_of(5000, 1)}}), 0U);
  EXPECT_EQ(client.call(ModulePiece{.module = 21, .tail = {longer}}), 0U);
  EXPECT_EQ(client.call(ModulePiece{.module = 22, .tail = {binary_of(5000, 2)}}), 0U);
  EXPECT_EQ(load(client, {20, 21, 22, 23, 20}),
            (std::vector<Status>{0, CUDA_ERROR_INVALID_IMAGE, 0, CUDA_ERROR_INVALID_HANDLE,
                                 CUDA_ERROR_INVALID_HANDLE}));
  EXPECT_EQ(load(client, {20}), std::vector<Status>{CUDA_ERROR_INVALID_HANDLE});
  EXPECT_EQ(load(client, {}), std::vector<Status>{});
}

TEST_F(SharedImages, PackedPiecesAreUnpackedOrRefused) {
  if (!images::has_zstandard()) GTEST_SKIP() << "no libzstd.so.1 here";
  const ServerProcess server(0);
  Speaker client(server);
  const auto image = binary_of(500'000, 7);
  const auto frame = images::compress(image).value_or(std::vector<std::byte>{});
  EXPECT_LT(frame.size(), image.size() / 100);
  const auto give = [&](Id module, std::uint32_t bytes, Bytes content) {
    return client.call(ModulePacked{.module = module, .bytes = bytes, .tail = {content}});
  };
  const auto bytes = static_cast<std::uint32_t>(image.size());
  EXPECT_EQ(give(20, bytes, frame), 0U);
  EXPECT_EQ(load(client, {20}), std::vector<Status>{0});
  for (const std::uint32_t claimed : {bytes - 1, bytes + 1, 0U})
    EXPECT_EQ(give(21, claimed, frame), CUDA_ERROR_INVALID_IMAGE) << claimed;
  EXPECT_EQ(give(21, std::uint32_t{1} << 31, frame), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(give(21, bytes, Bytes(frame).first(frame.size() / 2)), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(give(21, bytes, {}), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(give(21, bytes, image), CUDA_ERROR_INVALID_IMAGE);
  // None of these was kept.
  EXPECT_EQ(give(21, bytes, frame), 0U);
  EXPECT_EQ(load(client, {21}), std::vector<Status>{0});
}

// Pieces without data would use more of the server's events than a ring has.
TEST_F(Sessions, PiecesOfNoLengthEndTheSession) {
  const ServerProcess server(0);
  for (const std::uint32_t piece : {1U, 65'535U, 1'048'577U}) {
    Speaker client(server);
    EXPECT_THROW(client.call(CopyFrom{.bytes = 1 << 20, .piece = piece, .connections = 4}),
                 ConnectionLost);
  }
  for (const std::uint16_t connections : {std::uint16_t{0}, std::uint16_t{17}}) {
    Speaker client(server);
    EXPECT_THROW(
        client.call(CopyFrom{.bytes = 1 << 20, .piece = 65'536, .connections = connections}),
        ConnectionLost);
  }
  Speaker client(server);
  EXPECT_THROW(client.call(CopyFrom{.bytes = (1 << 20) + 1}), ConnectionLost);
}

// ---- what a client's modules may use of its server process ----

TEST(Modules, TheImagesOfAllTogetherAreBounded) {
  const server::Driver driver(GPUCAST_TEST_LIBCUDA);
  server::Streams streams(driver);
  constexpr std::size_t most = 1000;
  server::Modules modules(driver, streams, most);
  const std::vector<std::byte> piece(400);
  const auto give = [&](Id module) {
    return server::status_of([&] { modules.run(ModulePiece{.module = module, .tail = {piece}}); });
  };
  EXPECT_EQ(give(20), CUDA_SUCCESS);
  EXPECT_EQ(give(21), CUDA_SUCCESS);
  EXPECT_EQ(give(21), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(give(22), CUDA_ERROR_OUT_OF_MEMORY);
  modules.run(ModuleUnload{.module = 20});
  EXPECT_EQ(give(22), CUDA_SUCCESS);
}

TEST(Modules, AreOnlyLoadedFromImagesAsLongAsTheySay) {
  const server::Driver driver(GPUCAST_TEST_LIBCUDA);
  driver.cuInit(0);
  server::Streams streams(driver);
  server::Modules modules(driver, streams, 1000);
  Id module = 20;
  const auto load = [&](std::uint64_t promised, std::size_t bytes) {
    const std::uint64_t head[] = {0x0010'0001'ba55'ed50, promised};
    std::vector<std::byte> image(bytes);
    if (bytes > 0) std::memcpy(image.data(), head, std::min(bytes, sizeof head));
    modules.run(ModulePiece{.module = ++module, .tail = {image}});
    return server::status_of([&] { modules.run(ModuleLoad{.module = module}); });
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
}  // namespace gpucast::remote
