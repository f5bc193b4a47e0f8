#include "server/log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace gpucast::remote::server {

// O_NONBLOCK belongs to the open file, which other processes share (a shell its terminal): it is
// set on a descriptor that this process opens itself.
Log::Log(int descriptor) : descriptor_(descriptor) {
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0) return;
  is_socket_ = S_ISSOCK(facts.st_mode);
  if (!S_ISFIFO(facts.st_mode) && !S_ISCHR(facts.st_mode)) return;
  const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
  own_ = support::Descriptor(
      ::open(name.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

void Log::say(const std::string& line) {
  constexpr const char* program = "gpucast-gpu-server: ";
  const std::lock_guard lock(mutex_);
  std::string text = program + line + '\n';
  if (lost_ > 0) {
    text.insert(0, program + std::to_string(lost_) + " lines were lost: nobody read this log\n");
  }
  lost_ = write(text) ? 0 : lost_ + 1;
}

bool Log::write(const std::string& text) const {
  if (is_socket_)
    return ::send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  if (own_) return ::write(own_.get(), text.data(), text.size()) >= 0;
  // If it could not be reopened, writes only as much as there is room for now.
  pollfd entry{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  if (::poll(&entry, 1, 0) != 1 || (entry.revents & POLLOUT) == 0) return false;
  return ::write(descriptor_, text.data(), text.size()) >= 0;
}

std::optional<std::string> Complaints::take(const std::string& complaint, Time now) {
  const bool goes_on = last_ && now - *last_ < pause;
  if (goes_on && said_ >= most_) {
    ++held_;
    return std::nullopt;
  }
  if (!goes_on) {
    last_ = now;
    said_ = 0;
  }
  ++said_;
  const auto held = std::exchange(held_, 0);
  return held == 0
             ? complaint
             : complaint + " (and " + std::to_string(held) + (held == 1 ? " other)" : " others)");
}

std::optional<std::string> Complaints::rest(Time now) {
  if (held_ == 0 || !last_ || now - *last_ < pause) return std::nullopt;
  last_ = now;
  return std::to_string(std::exchange(held_, 0)) + " more connections ended so or were refused";
}

}  // namespace gpucast::remote::server
