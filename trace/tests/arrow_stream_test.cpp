// nanoarrow's reader reads what was written; tests/trace/ reads it with pyarrow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "nanoarrow/nanoarrow_ipc.h"
#include "tables.h"
#include "temporary_folder.h"

namespace gpucast::trace {
namespace {

// The number of rows of each readable batch in a file.
std::vector<std::int64_t> rows_of_batches(const std::filesystem::path& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr);
  ArrowIpcInputStream input{};
  EXPECT_EQ(ArrowIpcInputStreamInitFile(&input, file, /*close_on_release=*/1), NANOARROW_OK);
  ArrowArrayStream stream{};
  EXPECT_EQ(ArrowIpcArrayStreamReaderInit(&stream, &input, nullptr), NANOARROW_OK);
  std::vector<std::int64_t> result;
  ArrowArray batch{};
  while (stream.get_next(&stream, &batch) == NANOARROW_OK && batch.release != nullptr) {
    result.push_back(batch.length);
    ArrowArrayRelease(&batch);
  }
  ArrowArrayStreamRelease(&stream);
  return result;
}

Call call(std::uint32_t correlation) {
  return {
      .start_ns = 1, .end_ns = 2, .correlation = correlation, .thread = 0, .name = 3, .result = 0};
}

TEST(ArrowStream, HoldsEachWriteAsABatch) {
  const support::TemporaryFolder folder;
  Table<Call> table(folder / "calls.arrows");
  table.add(call(1));
  table.add(call(2));
  table.write();
  table.write();  // an empty batch
  table.add(call(3));
  table.close();
  EXPECT_EQ(rows_of_batches(folder / "calls.arrows"), (std::vector<std::int64_t>{2, 1}));
}

TEST(ArrowStream, WithoutRowsHasNoFile) {
  const support::TemporaryFolder folder;
  Table<Work> table(folder / "work.arrows");
  table.close();
  EXPECT_FALSE(std::filesystem::exists(folder / "work.arrows"));
}

TEST(ArrowStream, CutOffAnywhereGivesItsWholeBatches) {
  const support::TemporaryFolder folder;
  const std::filesystem::path path = folder / "names.arrows";
  std::vector<std::uintmax_t> ends;
  {
    Table<NameRow> table(path);
    for (std::uint32_t row = 1; row <= 3; ++row) {
      table.add({row, "kernel<" + std::to_string(row) + ">"});
      table.write();
      ends.push_back(std::filesystem::file_size(path));
    }
  }
  for (std::uintmax_t size = ends.back(); size >= ends.front(); --size) {
    std::filesystem::resize_file(path, size);
    const auto whole = std::ranges::count_if(ends, [&](auto end) { return end <= size; });
    EXPECT_EQ(std::ssize(rows_of_batches(path)), whole) << size << " bytes";
  }
}

TEST(ArrowStream, SaysWhereItCannotBeWritten) {
  Table<Call> table("/nowhere/calls.arrows");
  table.add(call(1));
  try {
    table.write();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/calls.arrows"), std::string::npos);
  }
}

}  // namespace
}  // namespace gpucast::trace
