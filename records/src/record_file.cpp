#include "gpucast/records/record_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "gpucast/records/records.h"

namespace gpucast::records {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse_file(const std::string& name, const std::string& why) {
  throw support::InputError(name + ": " + why);
}

// Writes the whole text; returns an errno, or 0.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      // Another process that shares stdout may have made it non-blocking.
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

off_t size_of(int descriptor) {
  struct stat facts{};
  return ::fstat(descriptor, &facts) == 0 ? facts.st_size : -1;
}

}  // namespace

WholeFile::WholeFile(const std::string& path, IfExists if_exists, const std::string& option)
    : name_(path) {
  if (option.empty() && path == "-") {
    name_ = "stdout";
    descriptor_ = support::Descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!descriptor_) refuse_file(name_, reason(errno));
    return;
  }
  const std::string called = option.empty() ? path : option + ": " + path;
  if (path.empty()) refuse_file("output", "the file's name is empty");
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  regular_ = !exists || S_ISREG(status.st_mode);
  if (exists && regular_ && if_exists == IfExists::refuse) {
    refuse_file(called, std::string("exists already; --force replaces it") +
                            (option.empty() ? ", --append adds to it" : ""));
  }
  created_ = !exists;
  const int creation = exists ? 0 : O_CREAT | O_EXCL;
  descriptor_ =
      support::Descriptor(::open(path.c_str(), O_WRONLY | creation | O_CLOEXEC | O_NOCTTY, 0666));
  if (!descriptor_) refuse_file(called, reason(errno));
  if (!regular_) return;
  // Two programs that write one file would cut each other's pieces. File systems without locks are
  // ignored.
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    refuse_file(called, "another program is writing to it");
  size_ = exists ? size_of(descriptor_.get()) : 0;
}

WholeFile::~WholeFile() { remove_if_empty(); }

void WholeFile::remove_if_empty() {
  if (created_ && !started_ && what_happened().empty()) ::unlink(name_.c_str());
  created_ = false;
}

void WholeFile::write(std::string_view piece) {
  if (!started_ && !cut()) throw support::OutputError(name_ + ": " + reason(errno));
  if (const int error = write_all(descriptor_.get(), piece); error != 0) {
    // A disk may fill up in the middle of a piece.
    const std::string half = cut() ? "" : "; its end is cut off";
    size_ = regular_ ? size_of(descriptor_.get()) : 0;
    throw support::OutputError(name_ + ": " + reason(error) + half);
  }
  keep_ += std::ssize(piece);
  size_ = keep_;
  started_ = true;
}

bool WholeFile::cut() const {
  return !regular_ || (::ftruncate(descriptor_.get(), keep_) == 0 &&
                       ::lseek(descriptor_.get(), keep_, SEEK_SET) == keep_);
}

std::string WholeFile::what_happened() const {
  struct stat ours{};
  struct stat there{};
  if (!regular_ || ::fstat(descriptor_.get(), &ours) != 0) return "";
  if (::stat(name_.c_str(), &there) != 0)
    return errno == ENOENT ? "was removed" : "cannot be reached (" + reason(errno) + ")";
  if (there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
    return "was replaced by another file";
  return ours.st_size == size_ ? "" : "was changed by somebody else";
}

void WholeFile::close() {
  remove_if_empty();
  if (descriptor_.reset() != 0) throw support::OutputError(name_ + ": " + reason(errno));
}

RecordFile::RecordFile(const std::string& path, IfExists if_exists) : WholeFile(path, if_exists) {
  // Writing to a pipe without a reader is then an error and does not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  if (regular_ && if_exists == IfExists::append) find_end();
}

void RecordFile::find_end() {
  std::ifstream file(name_, std::ios::binary);
  std::string half;  // what follows the last line end
  for (std::string line; std::getline(file, line);) {
    keep_ += std::ssize(line) + 1;
    if (file.eof()) half = std::move(line);
  }
  if (!file.eof()) refuse_file(name_, reason(errno));
  if (half.empty()) return;
  // A complete last line counts as a record without its line end; half a line is never a complete
  // object.
  keep_ -= 1;
  needs_line_end_ = nlohmann::json::accept(half);
  if (needs_line_end_) return;
  if (half.front() != '{') refuse_file(name_, "its last line is no record; it is left as it is");
  keep_ -= std::ssize(half);
}

void RecordFile::write(const nlohmann::ordered_json& record) {
  require_object("record", record);
  nlohmann::ordered_json line;
  line["schema"] = schema;
  line.update(record);
  // Names of files and hosts may contain any bytes; JSON is UTF-8.
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  require_unchanged(text);
  WholeFile::write(needs_line_end_ ? "\n" + text : text);
  needs_line_end_ = false;
  if (regular_) written_ += text;
}

void RecordFile::require_unchanged(const std::string& more) {
  if (lost_.empty()) {
    const std::string happened = what_happened();
    if (happened.empty()) return;
    lost_ = name_ + ": " + happened + " while it was measured into; " + save_beside(more);
  }
  throw support::OutputError(lost_);
}

std::string RecordFile::save_beside(const std::string& more) const {
  const std::string known = written_ + more;
  if (known.empty()) return "nothing was measured yet";
  for (int number = 1;; ++number) {
    const std::string name = name_ + ".saved" + (number > 1 ? std::to_string(number) : "");
    const support::Descriptor saved(
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!saved && errno == EEXIST) continue;
    const int error = saved ? write_all(saved.get(), known) : errno;
    if (error != 0) return "what was measured could not be saved as " + name + ": " + reason(error);
    return "what was measured is saved as " + name;
  }
}

void RecordFile::close() {
  if (started_) require_unchanged("");
  WholeFile::close();
}

namespace {

std::string checked(const char* option, const std::string& text) {
  try {
    return label(option, text);
  } catch (const std::invalid_argument& error) {
    throw support::InputError(error.what());
  }
}

}  // namespace

void OutputOptions::declare(CLI::App* command) {
  command->add_option("-o,--output", path_, "file for the records (-: stdout)");
  command->add_option(
      "--path", label_,
      "label of the records (default: host, native, or over remote GPUs remote, remote-sync or "
      "remote-shm)");
  command->add_option(
      "--machine", machine_,
      "name of this machine in the records; under one name, records of several runs "
      "and programs are fitted together (default: a new one for every run)");
  command->add_flag("--append", append_, "add to the file");
  command->add_flag("--force", force_, "replace the file");
}

IfExists OutputOptions::if_exists() const {
  if (append_ && force_) throw support::InputError("--append: cannot go with --force");
  if (append_) return IfExists::append;
  return force_ ? IfExists::replace : IfExists::refuse;
}

std::string OutputOptions::machine() const {
  return machine_.empty() ? machine_ : checked("--machine", machine_);
}

std::string OutputOptions::label_or(std::string_view usual) const {
  return label_.empty() ? std::string(usual) : checked("--path", label_);
}

}  // namespace gpucast::records
