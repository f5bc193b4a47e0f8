#include "server/gpu_check.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "gpucast/support/errors.h"
#include "server/driver.h"

namespace gpucast::remote::server {
namespace {

constexpr const char* check_mark = "--look-for-gpu-of-this-server";  // never a user's
constexpr std::size_t words_of_check = 4;

}  // namespace

bool gpu_is_there(const std::string& name, const SessionOptions& options) {
  std::vector<std::string> words = {name, check_mark, options.libcuda, std::to_string(options.gpu)};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
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
