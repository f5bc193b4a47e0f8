// A file with an Arrow IPC stream: a schema, then batches of rows. Each batch is written at once,
// so that everything that a killed process has written can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace gpucast::trace {

struct ColumnSchema {
  std::string_view name;
  // In the notation of Arrow's C data interface: "I" is an unsigned 32-bit integer.
  std::string_view type;
};
inline constexpr std::string_view text_type = "u";

// The values of a column in one batch, one after the other. A text column consists of its
// characters and the offset of each row (one offset more than there are rows).
struct ColumnValues {
  std::span<const std::byte> values;
  std::span<const std::int32_t> offsets = {};
};

class ArrowStream {
 public:
  // The first batch creates the file. All functions throw std::runtime_error.
  ArrowStream(std::filesystem::path path, std::span<const ColumnSchema> schema);
  ~ArrowStream();

  void write(std::size_t rows, std::span<const ColumnValues> columns);
  // Ends the stream; a stream without rows creates no file.
  void close();

 private:
  struct Encoder;
  void flush();

  std::filesystem::path path_;
  std::unique_ptr<Encoder> encoder_;
  int file_ = -1;
};

}  // namespace gpucast::trace
