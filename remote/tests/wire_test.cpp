// Messages survive encoding and decoding; other bytes are refused, whatever they are.
#include <gtest/gtest.h>

#include <random>

#include "protocol/calls.h"

namespace gpucast::remote {
namespace {

template <class Message>
std::vector<std::byte> payload_of(const Message& message) {
  std::vector<std::byte> bytes;
  encode(bytes, message, 7);
  return {bytes.begin() + Header::size, bytes.end()};
}

TEST(Wire, HeaderSaysWhatFollows) {
  std::vector<std::byte> bytes;
  const std::vector<std::byte> tail(100);
  encode(bytes, CopyTo{.to = 5, .tail = {tail}}, 77);
  const Header header = decode_header(bytes);
  EXPECT_EQ(header.call, Call::CopyTo);
  EXPECT_EQ(header.request, 77U);
  EXPECT_EQ(header.bytes, bytes.size() - Header::size + 100);
}

TEST(Wire, ValuesAreLittleEndianAndUnpadded) {
  const auto bytes = payload_of(CopyTo{.to = 0x0102030405060708, .stream = 1, .fence = 2});
  ASSERT_EQ(bytes.size(), 17U);
  EXPECT_EQ(bytes[0], std::byte{8});
  EXPECT_EQ(bytes[7], std::byte{1});
  EXPECT_EQ(bytes[16], std::byte{2});
}

TEST(Wire, ALaunchComesBackAsItWas) {
  const std::array<std::byte, 3> arguments = {std::byte{1}, std::byte{2}, std::byte{3}};
  const auto bytes = payload_of(Launch{.kernel = 42,
                                       .grid = {1, 2, 3},
                                       .block = {4, 5, 6},
                                       .cluster = {7, 8, 9},
                                       .cooperative = 1,
                                       .shared = 10,
                                       .stream = 11,
                                       .arguments = arguments});
  const auto back = decode<Launch>(bytes);
  EXPECT_EQ(back.kernel, 42U);
  EXPECT_EQ(back.grid, (std::array<std::uint32_t, 3>{1, 2, 3}));
  EXPECT_EQ(back.cluster, (std::array<std::uint32_t, 3>{7, 8, 9}));
  EXPECT_EQ(back.shared, 10U);
  EXPECT_TRUE(std::ranges::equal(back.arguments, arguments));
}

TEST(Wire, ListsOfMessagesAndTextsComeBack) {
  ModuleKernels asked{.module = 3, .first = 4, .names = {"one", "", "three"}};
  EXPECT_EQ(decode<ModuleKernels>(payload_of(asked)).names, asked.names);
  Kernels told;
  told.kernels.push_back({.status = 1, .most_threads = 2, .parameters = {{0, 8}, {8, 4}}});
  const auto back = decode<Kernels>([&] {
    std::vector<std::byte> bytes;
    Writer writer(bytes);
    writer(told);
    return bytes;
  }());
  ASSERT_EQ(back.kernels.size(), 1U);
  EXPECT_EQ(back.kernels[0].parameters[1].offset, 8U);
}

TEST(Wire, ShorterAndLongerMessagesAreRefused) {
  auto bytes = payload_of(StreamCreate{.stream = 1, .flags = 2, .priority = 3});
  bytes.push_back(std::byte{0});
  EXPECT_THROW(decode<StreamCreate>(bytes), ProtocolError);
  bytes.resize(bytes.size() - 2);
  EXPECT_THROW(decode<StreamCreate>(bytes), ProtocolError);
}

TEST(Wire, WhatFollowsTheFieldsIsTheTail) {
  auto bytes = payload_of(CopyTo{.to = 1, .stream = 2});
  bytes.push_back(std::byte{9});
  const Bytes tail = decode<CopyTo>(bytes).tail.data;
  ASSERT_EQ(tail.size(), 1U);
  EXPECT_EQ(tail[0], std::byte{9});
}

TEST(Wire, LengthsOutOfBoundsAllocateNothing) {
  std::vector<std::byte> bytes;
  Writer writer(bytes);
  writer(Id{1}), writer(Id{2}), writer(std::uint32_t{0xffffffff});  // for the names
  EXPECT_THROW(decode<ModuleKernels>(bytes), ProtocolError);
  std::vector<std::byte> header;
  Writer of_header(header);
  Header huge{.bytes = 0x7fffffff, .call = Call::Ping};
  of_header(huge);
  EXPECT_THROW(decode_header(header), ProtocolError);
  EXPECT_THROW(payload_of(ModuleGlobal{.module = 1, .name = std::string(100'000, 'x')}),
               ProtocolError);
}

// Every message type decodes or refuses noise, and its own bytes after damage.
template <class Message>
void feed(std::mt19937& random) {
  auto bytes = payload_of(Message{});
  std::uniform_int_distribution<int> byte(0, 255);
  std::uniform_int_distribution<std::size_t> length(0, 300);
  for (int k = 0; k < 300; ++k) {
    std::vector<std::byte> noise;
    if (k % 2 == 0)
      noise.resize(length(random));
    else
      noise = bytes;
    for (std::byte& value : noise)
      if (k % 2 == 0 || byte(random) < 40) value = static_cast<std::byte>(byte(random));
    try {
      const auto message = decode<Message>(noise);
      EXPECT_LE(tail_of(message).size(), noise.size());
    } catch (const ProtocolError&) {
      continue;
    }
  }
}

TEST(Wire, NoiseIsDecodedOrRefused) {
  std::mt19937 random(20250101);
  feed<Reply<>>(random);
  feed<Data>(random);
#define GPUCAST_FEED(Message, ...) feed<Message>(random);
  GPUCAST_CALLS(GPUCAST_FEED)
#undef GPUCAST_FEED
}

// Programs and servers of several versions meet: a call keeps its number.
TEST(Wire, CallsHaveTheNumbersOfVersion5) {
  EXPECT_EQ(static_cast<int>(Call::data), 2);
  EXPECT_EQ(static_cast<int>(Call::Open), 3);
  EXPECT_EQ(static_cast<int>(Call::CopyWithin), 13);
  EXPECT_EQ(static_cast<int>(Call::DeviceSync), 25);
  EXPECT_EQ(static_cast<int>(Call::FenceSync), 35);
  EXPECT_EQ(static_cast<int>(Call::Detach), 38);
}

// Encodes values one after another, each with the width of its type.
template <class Message>
std::size_t width(const Message& message = {}) {
  return payload_of(message).size();
}

TEST(Wire, EveryFieldOfAMessageIsSent) {
  EXPECT_EQ(width<Open>(), 0U);
  EXPECT_EQ(width<StreamQuery>(), 8U);
  EXPECT_EQ(width<MemAlloc>(), 2U * 8);
  EXPECT_EQ(width<StreamCreate>(), 8U + 4 + 4);
  EXPECT_EQ(width<FunctionSetAttribute>(), 8U + 4 + 4);
  EXPECT_EQ(width<Occupancy>(), 8U + 4 + 8 + 4);
  EXPECT_EQ(width<CopyToBulk>(), 4U * 8 + 1);
  EXPECT_EQ(width<CopyFrom>(), 4U * 8 + 4 + 2);
  EXPECT_EQ(width<Memset>(), 5U * 8 + 2);
  EXPECT_EQ(width<CopyWithin>(), 7U * 8 + 1);
  EXPECT_EQ(width<Launch>(), 8U + 3 * 12 + 1 + 4 + 8 + 4);
  EXPECT_EQ(width<Attach>(), 8U + 64 + 8 + 8 + 32);
  EXPECT_EQ(width<EventElapsed>(), 2U * 8);
  const StreamSync sync{.stream = 1, .pairs = {{.begin = 2, .end = 3}, {.begin = 4, .end = 5}}};
  EXPECT_EQ(width(sync), 8U + 4 + 2 * 16);
  EXPECT_EQ(width(ModuleGlobal{.module = 1, .name = "four"}), 8U + 4 + 4);
}

template <class Message>
std::size_t size_of() {
  return packed(Message{}).size();
}

TEST(Wire, HandshakesHaveTheSizesThatAreRead) {
  EXPECT_EQ(size_of<Hello>(), Hello::size);
  EXPECT_EQ(size_of<Challenge>(), Challenge::size);
  EXPECT_EQ(size_of<Answer>(), Answer::size);
  EXPECT_EQ(size_of<Welcome>(), Welcome::size);
  EXPECT_EQ(size_of<Admission>(), Admission::size);
  EXPECT_EQ(size_of<Piece>(), Piece::size);
  EXPECT_EQ(size_of<Header>(), Header::size);
}

TEST(Pieces, AreFourOfShortCopiesAndOneForEachConnectionOfLongerOnes) {
  const auto pieces = [](std::size_t bytes, std::size_t connections) {
    const std::size_t most = piece_of(bytes, connections);
    return (bytes + most - 1) / most;
  };
  EXPECT_EQ(pieces(std::size_t{1} << 20, 4), 4U);
  EXPECT_EQ(pieces(std::size_t{1} << 20, 8), 4U);
  EXPECT_EQ(pieces(std::size_t{4} << 20, 4), 4U);
  EXPECT_EQ(pieces(std::size_t{4} << 20, 8), 8U);
  EXPECT_EQ(pieces(std::size_t{256} << 10, 4), 4U);
  EXPECT_EQ(pieces(std::size_t{256} << 20, 4), 256U);
  for (std::size_t bytes = 1; bytes < std::size_t{16} << 20; bytes = bytes + bytes / 3 + 1) {
    for (std::size_t connections = 1; connections <= most_bulk_connections; ++connections) {
      const std::size_t piece = piece_of(bytes, connections);
      EXPECT_GE(piece, least_piece);
      EXPECT_LE(piece, piece_bytes);
      EXPECT_TRUE(piece == least_piece || piece == piece_bytes ||
                  pieces(bytes, connections) <= std::max<std::size_t>(connections, 4));
    }
  }
}

}  // namespace
}  // namespace gpucast::remote
