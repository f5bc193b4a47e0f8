#include "app/trajectory_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

TrajectoryFile::TrajectoryFile(std::string path, bool force)
    : path_(std::move(path)), created_(::access(path_.c_str(), F_OK) != 0) {
  const int creation = force && !created_ ? 0 : O_CREAT | O_EXCL;
  descriptor_ =
      support::Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | creation, 0666));
  if (!descriptor_ && errno == EEXIST) {
    throw support::InputError("--trajectory: " + path_ + ": exists already; --force replaces it");
  }
  if (!descriptor_) throw support::InputError("--trajectory: " + path_ + ": " + reason(errno));
}

TrajectoryFile::~TrajectoryFile() {
  if (created_ && whole_ == 0) ::unlink(path_.c_str());
}

void TrajectoryFile::write(const std::string& frame) {
  // Devices and pipes cannot be cut, and need not.
  if (whole_ == 0 && ::ftruncate(descriptor_.get(), 0) != 0 && errno != EINVAL) {
    throw support::OutputError(path_ + ": " + reason(errno));
  }
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t now = ::write(descriptor_.get(), frame.data() + done, frame.size() - done);
    if (now >= 0) {
      done += static_cast<std::size_t>(now);
    } else if (errno != EINTR) {
      const int error = errno;
      const bool cut = ::ftruncate(descriptor_.get(), whole_) == 0;
      throw support::OutputError(path_ + ": " + reason(error) +
                                 (cut ? "" : "; its last frame is cut off"));
    }
  }
  whole_ += static_cast<off_t>(frame.size());
}

void TrajectoryFile::close() {
  if (descriptor_.reset() != 0) throw support::OutputError(path_ + ": " + reason(errno));
}

}  // namespace gpucast::mdapp
