#include "server/client_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace gpucast::remote::server {
namespace {

constexpr const char* mark = "--client-of-this-server";  // never a user's
constexpr std::size_t count_of_words = 7;
constexpr int lane_number = 3;
constexpr int door_number = 4;

// What is to be done with descriptors between the two programs.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  bool move(const Descriptor& from, int to) {
    return from && ::posix_spawn_file_actions_adddup2(&actions_, from.get(), to) == 0;
  }
  bool close_from(int first) {
    return ::posix_spawn_file_actions_addclosefrom_np(&actions_, first) == 0;
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Descriptor out_of_the_way(int descriptor) {
  return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, door_number + 1));
}

}  // namespace

pid_t begin_client_program(const std::string& name, int lane, int door,
                           const SessionOptions& options) {
  std::vector<std::string> words = {name,
                                    mark,
                                    std::to_string(::getpid()),
                                    options.libcuda,
                                    std::to_string(options.gpu),
                                    std::to_string(options.most_memory),
                                    std::to_string(options.spin.count())};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const Descriptor lane_aside = out_of_the_way(lane);
  const Descriptor door_aside = out_of_the_way(door);
  FileActions actions;
  pid_t process = 0;
  const bool begun = actions.move(lane_aside, lane_number) &&
                     actions.move(door_aside, door_number) && actions.close_from(door_number + 1) &&
                     ::posix_spawn(&process, "/proc/self/exe", actions.get(), nullptr,
                                   arguments.data(), environ) == 0;
  return begun ? process : 0;
}

std::optional<ClientProgram> client_program(const std::vector<std::string>& words) {
  if (words.size() != count_of_words || words[1] != mark) return std::nullopt;
  ::fcntl(lane_number, F_SETFD, FD_CLOEXEC);
  ::fcntl(door_number, F_SETFD, FD_CLOEXEC);
  ClientProgram result{.lane = Descriptor(lane_number),
                       .door = Descriptor(door_number),
                       .options = {.libcuda = words[3],
                                   .gpu = std::stoi(words[4]),
                                   .most_memory = std::stoull(words[5]),
                                   .spin = std::chrono::microseconds(std::stoll(words[6]))}};
  const char begun = 1;
  if (!end_with_parent(std::stoi(words[2])) ||
      ::send(door_number, &begun, sizeof begun, MSG_NOSIGNAL) != sizeof begun) {
    throw std::runtime_error("a client's process: the server's is gone");
  }
  return result;
}

bool end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return ::getppid() == parent;
}

}  // namespace gpucast::remote::server
