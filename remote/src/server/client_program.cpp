#include "server/client_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "gpucast/support/errors.h"
#include "server/driver.h"
#include "transport/line.h"

namespace gpucast::remote::server {
namespace {

constexpr const char* mark = "--client-of-this-server";  // never a user's
constexpr std::size_t count_of_words = 10;
constexpr int control_number = 3;
constexpr int others_number = 4;
constexpr int images_number = 5;

// As a program is begun with them; they have to stay.
std::vector<char*> arguments_of(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words)
    result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

Descriptor out_of_the_way(int descriptor) {
  return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, images_number + 1));
}

static_assert(std::is_trivially_copyable_v<Greeted>, "it is passed as it lies");

constexpr const char* check_mark = "--look-for-gpu-of-this-server";  // never a user's
constexpr std::size_t words_of_check = 4;

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
  std::vector<char*> arguments = arguments_of(words);
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

bool pass_descriptor(int to, const Greeted& greeted, int descriptor) {
  Greeted said = greeted;
  DescriptorMessage message(std::as_writable_bytes(std::span(&said, 1)), descriptor);
  return sendmsg(to, message.head(), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof said;
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
    // Lost on its way, for want of descriptors here.
  }
}

bool gpu_is_there(const std::string& name, const SessionOptions& options) {
  std::vector<std::string> words = {name, check_mark, options.libcuda, std::to_string(options.gpu)};
  std::vector<char*> arguments = arguments_of(words);
  pid_t process = 0;
  if (::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) != 0)
    throw std::runtime_error("no new process can be begun");
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw std::runtime_error("the driver ended the process that asked it for its GPUs, by signal " +
                             std::to_string(WTERMSIG(status)));
  }
  return WEXITSTATUS(status) == 0;
}

bool checked_gpu(const std::vector<std::string>& words) {
  if (words.size() != words_of_check || words[1] != check_mark) return false;
  const int gpu = std::stoi(words[3]);
  try {
    const Driver driver(words[2]);
    const auto require = [&](CUresult status, const char* call) {
      if (status != CUDA_SUCCESS)
        throw DriverError(status, std::string(call) + ": " + driver.text(status));
    };
    int count = 0;
    require(driver.cuInit(0), "cuInit");
    require(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (gpu >= count) {
      throw support::InputError("--gpu " + std::to_string(gpu) + ": the machine has " +
                                std::to_string(count) + ", counted from 0");
    }
  } catch (const support::InputError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw support::InputError(std::string("no GPU to lend: ") + error.what());
  }
  return true;
}

}  // namespace gpucast::remote::server
