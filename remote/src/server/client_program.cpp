#include "server/client_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "gpucast/support/errors.h"
#include "transport/line.h"

namespace gpucast::remote::server {
namespace {

// Users never write these words: they precede the server's own command line.
constexpr const char* client_mark = "--client-of-this-server";  // and the server's process
constexpr const char* check_mark = "--look-for-gpu-of-this-server";
constexpr int control_number = 3;
constexpr int others_number = 4;
constexpr int images_number = 5;

// Returns 0 if no process can be started.
pid_t begin_anew(std::vector<std::string> words, const std::vector<std::string>& own,
                 const posix_spawn_file_actions_t* actions = nullptr) {
  words.insert(words.begin() + 1, own.begin(), own.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  const bool begun =
      ::posix_spawn(&process, "/proc/self/exe", actions, nullptr, arguments.data(), environ) == 0;
  return begun ? process : 0;
}

Descriptor out_of_the_way(int descriptor) {
  return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, images_number + 1));
}

// Returns the descriptor with this number that the process has inherited, or none.
Descriptor inherited(int number) {
  return Descriptor(::fcntl(number, F_SETFD, FD_CLOEXEC) == 0 ? number : -1);
}

static_assert(std::is_trivially_copyable_v<Greeted>, "it is passed as it lies");
static_assert(std::is_trivially_copyable_v<Admitted>, "it is told as it lies");

}  // namespace

pid_t begin_client_program(const std::vector<std::string>& words, int control, int others,
                           const Descriptor& images) {
  const Descriptor control_aside = out_of_the_way(control);
  const Descriptor others_aside = out_of_the_way(others);
  const Descriptor images_aside = images ? out_of_the_way(images.get()) : Descriptor();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const auto move = [&](const Descriptor& from, int to) {
    return from && ::posix_spawn_file_actions_adddup2(&actions, from.get(), to) == 0;
  };
  const bool ready =
      move(control_aside, control_number) && move(others_aside, others_number) &&
      (!images || move(images_aside, images_number)) &&
      ::posix_spawn_file_actions_addclosefrom_np(&actions, images_number + (images ? 1 : 0)) == 0;
  const pid_t process =
      ready ? begin_anew(words, {client_mark, std::to_string(::getpid())}, &actions) : 0;
  ::posix_spawn_file_actions_destroy(&actions);
  return process;
}

std::optional<ClientProgram> client_program(std::vector<std::string>& words) {
  if (words.size() < 3 || words[1] != client_mark) return std::nullopt;
  const int parent = std::stoi(words[2]);
  words.erase(words.begin() + 1, words.begin() + 3);
  ClientProgram result{.control = inherited(control_number),
                       .others = inherited(others_number),
                       .images = inherited(images_number)};
  const char begun = 1;
  if (!end_with_parent(parent) ||
      ::recv(others_number, &result.admitted, sizeof result.admitted, 0) !=
          sizeof result.admitted ||
      ::send(others_number, &begun, sizeof begun, MSG_NOSIGNAL) != sizeof begun) {
    throw std::runtime_error("a client's process: the server's is gone");
  }
  return result;
}

bool tell(int other, const Admitted& admitted) {
  return ::send(other, &admitted, sizeof admitted, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof admitted;
}

bool end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return ::getppid() == parent;
}

bool pass_descriptor(int to, Greeted greeted, int descriptor) {
  DescriptorMessage message(std::as_writable_bytes(std::span(&greeted, 1)), descriptor);
  return sendmsg(to, message.head(), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof greeted;
}

std::optional<Passed> receive_descriptor(int from) {
  for (;;) {
    Passed result;
    DescriptorMessage message(std::as_writable_bytes(std::span(&result.greeted, 1)));
    const ssize_t got = recvmsg(from, message.head(), MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    result.descriptor = Descriptor(message.descriptor());
    if (result.descriptor) return result;
    // The descriptor was lost because this process has too many open.
  }
}

bool gpu_is_there(const std::vector<std::string>& words) {
  const pid_t process = begin_anew(words, {check_mark});
  if (process == 0) throw std::runtime_error("no new process can be begun");
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw std::runtime_error("the driver ended the process that asked it for its GPUs, by signal " +
                             std::to_string(WTERMSIG(status)));
  }
  return WEXITSTATUS(status) == 0;
}

bool asks_for_gpu(std::vector<std::string>& words) {
  if (words.size() < 2 || words[1] != check_mark) return false;
  words.erase(words.begin() + 1);
  return true;
}

void require_gpu(const std::string& libcuda, int gpu) {
  int count = 0;
  try {
    count = Driver(libcuda).initialize();
  } catch (const std::runtime_error& error) {
    throw support::InputError(std::string("no GPU to lend: ") + error.what());
  }
  if (gpu >= count) {
    throw support::InputError("--gpu " + std::to_string(gpu) + ": the machine has " +
                              std::to_string(count) + ", counted from 0");
  }
}

}  // namespace gpucast::remote::server
