#include "server/client_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace gpucast::remote {
namespace {

constexpr const char* mark = "--client-of-this-server";  // never a user's
constexpr std::size_t count_of_words = 6;
constexpr int lane = 3;
constexpr int door = 4;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("a client's process: ") + what + ": " +
                           std::strerror(errno));
}

void close_all_above(int number) {
  std::vector<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    open.push_back(std::stoi(entry.path().filename().string()));
  for (const int each : open) {
    if (each > number) ::close(each);
  }
}

}  // namespace

void begin_client_program(const std::string& name, ClientProgram program) {
  const SessionOptions& options = program.options;
  std::vector<std::string> words = {name,
                                    mark,
                                    options.libcuda,
                                    std::to_string(options.gpu),
                                    std::to_string(options.most_memory),
                                    std::to_string(options.spin.count())};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Out of one another's way first.
  const Descriptor lane_aside(::fcntl(program.client.lane.get(), F_DUPFD_CLOEXEC, door + 1));
  const Descriptor door_aside(::fcntl(program.client.door.get(), F_DUPFD_CLOEXEC, door + 1));
  if (!lane_aside || !door_aside || ::dup2(lane_aside.get(), lane) < 0 ||
      ::dup2(door_aside.get(), door) < 0) {
    fail("descriptors");
  }
  close_all_above(door);
  ::execv("/proc/self/exe", arguments.data());
  fail("/proc/self/exe");
}

std::optional<ClientProgram> client_program(const std::vector<std::string>& words) {
  if (words.size() != count_of_words || words[1] != mark) return std::nullopt;
  ::fcntl(lane, F_SETFD, FD_CLOEXEC);
  ::fcntl(door, F_SETFD, FD_CLOEXEC);
  return ClientProgram{.client = {.lane = Descriptor(lane), .door = Descriptor(door)},
                       .options = {.libcuda = words[2],
                                   .gpu = std::stoi(words[3]),
                                   .most_memory = std::stoull(words[4]),
                                   .spin = std::chrono::microseconds(std::stoll(words[5]))}};
}

}  // namespace gpucast::remote
