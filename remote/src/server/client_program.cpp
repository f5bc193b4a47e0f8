#include "server/client_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <type_traits>

namespace gpucast::remote::server {
namespace {

constexpr const char* mark = "--client-of-this-server";  // never a user's
constexpr std::size_t count_of_words = 10;
constexpr int control_number = 3;
constexpr int others_number = 4;
constexpr int images_number = 5;

Descriptor out_of_the_way(int descriptor) {
  return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, images_number + 1));
}

}  // namespace

pid_t begin_client_program(const std::string& name, int control, int others,
                           const SessionOptions& options) {
  std::vector<std::string> words = {name,
                                    mark,
                                    std::to_string(::getpid()),
                                    options.libcuda,
                                    std::to_string(options.gpu),
                                    std::to_string(options.most_memory),
                                    std::to_string(options.spin.count()),
                                    std::to_string(options.most_segments),
                                    std::to_string(options.most_silence.count()),
                                    std::to_string(options.image_cache >= 0 ? 1 : 0)};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const Descriptor control_aside = out_of_the_way(control);
  const Descriptor others_aside = out_of_the_way(others);
  const bool has_images = options.image_cache >= 0;
  const Descriptor images_aside = has_images ? out_of_the_way(options.image_cache) : Descriptor();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const auto move = [&](const Descriptor& from, int to) {
    return from && ::posix_spawn_file_actions_adddup2(&actions, from.get(), to) == 0;
  };
  pid_t process = 0;
  const bool begun =
      move(control_aside, control_number) && move(others_aside, others_number) &&
      (!has_images || move(images_aside, images_number)) &&
      ::posix_spawn_file_actions_addclosefrom_np(&actions, images_number + (has_images ? 1 : 0)) ==
          0 &&
      ::posix_spawn(&process, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  return begun ? process : 0;
}

std::optional<ClientProgram> client_program(const std::vector<std::string>& words) {
  if (words.size() != count_of_words || words[1] != mark) return std::nullopt;
  ::fcntl(control_number, F_SETFD, FD_CLOEXEC);
  ::fcntl(others_number, F_SETFD, FD_CLOEXEC);
  if (words[9] == "1") ::fcntl(images_number, F_SETFD, FD_CLOEXEC);
  ClientProgram result;
  result.control = Descriptor(control_number);
  result.others = Descriptor(others_number);
  result.options = {.libcuda = words[3],
                    .gpu = std::stoi(words[4]),
                    .most_memory = std::stoull(words[5]),
                    .spin = std::chrono::microseconds(std::stoll(words[6])),
                    .most_segments = std::stoull(words[7]),
                    .most_silence = std::chrono::seconds(std::stoll(words[8])),
                    .image_cache = words[9] == "1" ? images_number : -1};
  const char begun = 1;
  Admitted admitted;
  if (!end_with_parent(std::stoi(words[2])) ||
      ::recv(others_number, &admitted, sizeof admitted, 0) != sizeof admitted ||
      ::send(others_number, &begun, sizeof begun, MSG_NOSIGNAL) != sizeof begun) {
    throw std::runtime_error("a client's process: the server's is gone");
  }
  result.security = admitted.security;
  result.key = Key(admitted.key);
  result.identity = admitted.identity;
  result.carrier = admitted.carrier;
  return result;
}

bool tell(int other, const Admitted& admitted) {
  static_assert(std::is_trivially_copyable_v<Admitted>, "it is told as it lies");
  return ::send(other, &admitted, sizeof admitted, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof admitted;
}

bool end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return ::getppid() == parent;
}

}  // namespace gpucast::remote::server
