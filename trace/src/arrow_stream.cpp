#include "arrow_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "nanoarrow/nanoarrow_ipc.h"

namespace gpucast::trace {
namespace {

void require(ArrowErrorCode code, const ArrowError* error = nullptr) {
  if (code == NANOARROW_OK) return;
  std::string what = "Arrow: ";
  what += error != nullptr ? static_cast<const char*>(error->message)
                           : std::generic_category().message(code);
  throw std::runtime_error(what);
}

void write_all(int file, std::span<const std::uint8_t> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw std::system_error(errno, std::generic_category(), path.string());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

ArrowBufferView view_of(const void* data, std::size_t bytes) {
  ArrowBufferView view{};
  view.data.data = data;
  view.size_bytes = static_cast<std::int64_t>(bytes);
  return view;
}

}  // namespace

// nanoarrow's objects, each of which has a release function of its own.
struct ArrowStream::Encoder {
  explicit Encoder(std::span<const ColumnSchema> columns) {
    ArrowBufferInit(&bytes);
    ArrowSchemaInit(&schema);
    require(ArrowSchemaSetTypeStruct(&schema, static_cast<std::int64_t>(columns.size())));
    for (std::size_t column = 0; column < columns.size(); ++column) {
      ArrowSchema* const child = schema.children[column];
      require(ArrowSchemaSetFormat(child, std::string(columns[column].type).c_str()));
      require(ArrowSchemaSetName(child, std::string(columns[column].name).c_str()));
      child->flags &= ~ARROW_FLAG_NULLABLE;
    }
    ArrowError error{};
    require(ArrowArrayViewInitFromSchema(&batch, &schema, &error), &error);
    // The writer takes the number of buffers from the array, and everything else from the view.
    shapes.resize(columns.size());
    for (std::size_t column = 0; column < columns.size(); ++column) {
      shapes[column].n_buffers = columns[column].type == text_type ? 3 : 2;
      batch.children[column]->array = &shapes[column];
    }
    ArrowIpcOutputStream output{};
    require(ArrowIpcOutputStreamInitBuffer(&output, &bytes));
    require(ArrowIpcWriterInit(&writer, &output));
  }
  ~Encoder() {
    if (writer.private_data != nullptr) ArrowIpcWriterReset(&writer);
    ArrowArrayViewReset(&batch);
    if (schema.release != nullptr) ArrowSchemaRelease(&schema);
    ArrowBufferReset(&bytes);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  ArrowBuffer bytes{};  // encoded, not written yet
  ArrowSchema schema{};
  std::vector<ArrowArray> shapes;
  ArrowArrayView batch{};
  ArrowIpcWriter writer{};
};

ArrowStream::ArrowStream(std::filesystem::path path, std::span<const ColumnSchema> schema)
    : path_(std::move(path)), encoder_(std::make_unique<Encoder>(schema)) {}

ArrowStream::~ArrowStream() {
  if (file_ >= 0) ::close(file_);
}

void ArrowStream::write(std::size_t rows, std::span<const ColumnValues> columns) {
  if (rows == 0) return;
  ArrowError error{};
  if (file_ < 0) {
    // A child process that the program starts does not need the file.
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_.string());
    require(ArrowIpcWriterWriteSchema(&encoder_->writer, &encoder_->schema, &error), &error);
  }
  ArrowArrayView& batch = encoder_->batch;
  batch.length = static_cast<std::int64_t>(rows);
  batch.null_count = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    ArrowArrayView& column = *batch.children[k];
    const ColumnValues& given = columns[k];
    column.length = batch.length;
    column.null_count = 0;
    const bool text = !given.offsets.empty();
    if (text) column.buffer_views[1] = view_of(given.offsets.data(), given.offsets.size_bytes());
    column.buffer_views[text ? 2 : 1] = view_of(given.values.data(), given.values.size());
  }
  require(ArrowIpcWriterWriteArrayView(&encoder_->writer, &batch, &error), &error);
  flush();
}

void ArrowStream::close() {
  if (file_ < 0) return;
  ArrowError error{};
  require(ArrowIpcWriterWriteArrayView(&encoder_->writer, nullptr, &error), &error);
  flush();
  ::close(file_);
  file_ = -1;
}

void ArrowStream::flush() {
  ArrowBuffer& bytes = encoder_->bytes;
  write_all(file_, {bytes.data, static_cast<std::size_t>(bytes.size_bytes)}, path_);
  require(ArrowBufferResize(&bytes, 0, /*shrink_to_fit=*/0));
}

}  // namespace gpucast::trace
