#include "app/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "gpucast/devices/error.h"
#include "gpucast/support/descriptor.h"

namespace gpucast::microbench {
namespace {

using devices::DeviceError;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw DeviceError("pipe: no descriptor is left");
    reading = support::Descriptor(ends[0]);
    writing = support::Descriptor(ends[1]);
  }

  support::Descriptor reading;
  support::Descriptor writing;
};

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words)
    result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

std::string output_of(const std::string& path, const std::vector<std::string>& arguments,
                      const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  for (const auto& [name, value] : environment)
    variables.push_back(std::string(name).append("=").append(value));
  Pipe pipe;
  FileActions actions;
  posix_spawn_file_actions_adddup2(actions.get(), pipe.writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, path.c_str(), actions.get(), nullptr,
                                 pointers(words).data(), pointers(variables).data());
  if (failed != 0) throw DeviceError(path + ": " + std::strerror(failed));
  pipe.writing.reset();
  std::string text = read_all(pipe.reading.get());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw DeviceError("a fresh run of " + path + " failed");
  }
  return text;
}

}  // namespace gpucast::microbench
