// A file that is an Arrow IPC stream: a schema, then batches of rows, each written at once, so that
// whatever a killed process has written can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gpucast::trace {

struct ColumnSchema {
  std::string_view name;
  std::string_view type;  // as Arrow's C data interface says it: "I" for 32 bits without a sign
};
inline constexpr std::string_view text_type = "u";

// One batch's values of a column, one after the other; of a text, its characters, and where each
// row's begin (one offset more than there are rows).
struct ColumnValues {
  std::span<const std::byte> values;
  std::span<const std::int32_t> offsets = {};
};

class ArrowStream {
 public:
  // The file is made by the first batch. Throws std::runtime_error, as all of these do.
  ArrowStream(std::filesystem::path path, std::span<const ColumnSchema> schema);
  ~ArrowStream();
  ArrowStream(const ArrowStream&) = delete;
  ArrowStream& operator=(const ArrowStream&) = delete;

  void write(std::size_t rows, std::span<const ColumnValues> columns);
  // Says that nothing is to follow; a stream without rows stays without a file.
  void close();

 private:
  struct Encoder;
  void flush();

  std::filesystem::path path_;
  std::unique_ptr<Encoder> encoder_;
  int file_ = -1;
};

}  // namespace gpucast::trace
