#include "gpucast/records/record_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "checked.h"

namespace gpucast::records {

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse_file(const std::string& name, const std::string& why) {
  throw support::InputError(name + ": " + why);
}

// Writing to a pipe that nobody reads any more raises SIGPIPE, which would end the process without
// a word. While this lives, the signal is held back in this thread, and then thrown away.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending{};
    sigpending(&pending);
    others_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    const timespec at_once{};
    while (!others_ && sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool others_ = false;  // one was held back already: not ours to throw away
};

// All of it; an errno, or 0.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      // Whoever shares our stdout may have made it non-blocking.
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// What follows the last line end of a file.
std::string last_line(int descriptor, off_t size) {
  constexpr off_t most = 1 << 16;
  std::string line;
  std::vector<char> buffer(most);
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - most);
    const auto wanted = static_cast<std::size_t>(end - begin);
    const ssize_t got = ::pread(descriptor, buffer.data(), wanted, begin);
    if (got < 0 || static_cast<std::size_t>(got) != wanted) {
      throw std::system_error(got < 0 ? errno : EIO, std::generic_category());
    }
    const std::string_view block(buffer.data(), wanted);
    const auto line_end = block.rfind('\n');
    line.insert(0, block.substr(line_end == std::string_view::npos ? 0 : line_end + 1));
    if (line_end != std::string_view::npos) {
      break;
    }
    end = begin;
  }
  return line;
}

}  // namespace

RecordFile::RecordFile(std::string path, IfExists if_exists)
    : name_(path == "-" ? "stdout" : path), path_(path == "-" ? "" : std::move(path)) {
  if (path_.empty() && name_ != "stdout") {
    refuse_file("output", "the file's name is empty");
  }
  if (path_.empty()) {
    descriptor_ = support::Descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!descriptor_) {
      refuse_file(name_, reason(errno));
    }
    return;
  }
  open(path_, if_exists);
  if (regular_) {
    lock();
    if (if_exists == IfExists::append) {
      find_end();
    }
  }
}

void RecordFile::open(const std::string& path, IfExists if_exists) {
  struct stat found{};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  regular_ = !exists || S_ISREG(found.st_mode);
  if (exists && regular_ && if_exists == IfExists::refuse) {
    refuse_file(path, "exists already; --force replaces it, --append adds to it");
  }
  const int access = if_exists == IfExists::append && regular_ ? O_RDWR | O_APPEND : O_WRONLY;
  const int creation = exists ? 0 : O_CREAT | O_EXCL;
  descriptor_ =
      support::Descriptor(::open(path.c_str(), access | creation | O_CLOEXEC | O_NOCTTY, 0666));
  if (!descriptor_) {
    refuse_file(path, reason(errno));
  }
  created_ = !exists;
}

void RecordFile::lock() const {
  // Two programs that write one file would cut each other's lines. Where a file system knows no
  // locks, nothing is said.
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    refuse_file(name_, "another program is writing to it");
  }
}

void RecordFile::find_end() {
  struct stat found{};
  if (::fstat(descriptor_.get(), &found) != 0) {
    refuse_file(name_, reason(errno));
  }
  keep_ = found.st_size;
  std::string half;
  try {
    half = last_line(descriptor_.get(), found.st_size);
  } catch (const std::system_error& error) {
    refuse_file(name_, error.code().message());
  }
  // A whole last line counts as a record without its line end; a half one can be no whole object.
  if (half.empty() || nlohmann::json::accept(half)) {
    needs_line_end_ = !half.empty();
  } else if (half.front() == '{') {
    keep_ -= static_cast<off_t>(half.size());
  } else {
    refuse_file(name_, "its last line is no record; it is left as it is");
  }
}

RecordFile::~RecordFile() {
  struct stat found{};
  if (created_ && !started_ && ::fstat(descriptor_.get(), &found) == 0 && found.st_size == 0) {
    ::unlink(path_.c_str());
  }
}

void RecordFile::prepare() {
  if (regular_ && !path_.empty() && ::ftruncate(descriptor_.get(), keep_) != 0) {
    throw support::OutputError(name_ + ": " + reason(errno));
  }
}

void RecordFile::write(const nlohmann::ordered_json& record) {
  require_object("record", record);
  require_finite("record", record);
  nlohmann::ordered_json line;
  line["schema"] = schema;
  line.update(record);
  // Names of files and hosts may be any bytes; JSON is UTF-8.
  std::string text =
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (!started_) {
    prepare();
    if (needs_line_end_) {
      text.insert(0, "\n");
    }
  }
  write_line(text);
  started_ = true;
}

void RecordFile::write_line(std::string_view line) {
  const off_t begin = regular_ ? ::lseek(descriptor_.get(), 0, SEEK_END) : -1;
  int error = 0;
  {
    const NoBrokenPipeSignal held_back;
    error = write_all(descriptor_.get(), line);
  }
  if (error == 0) {
    return;
  }
  // A disk may fill up in the middle of a line.
  if (begin >= 0 && ::ftruncate(descriptor_.get(), begin) != 0) {
    throw support::OutputError(name_ + ": " + reason(error) + "; its last line is cut off");
  }
  throw support::OutputError(name_ + ": " + reason(error));
}

void RecordFile::close() {
  const bool empty = created_ && !started_;
  if (empty) {
    ::unlink(path_.c_str());
    created_ = false;
  }
  if (descriptor_.reset() != 0) {
    throw support::OutputError(name_ + ": " + reason(errno));
  }
}

}  // namespace gpucast::records
