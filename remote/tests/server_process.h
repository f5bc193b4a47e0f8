// Servers beside a test.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "gpucast/support/descriptor.h"
#include "tests/own_folder.h"

namespace gpucast::remote {

// One for this process's clients and all servers that it begins, unless they are given another.
inline void give_secret() {
  static const OwnFolder folder;
  const std::string file = folder.path() + "/secret";
  if (std::filesystem::exists(file)) return;
  std::ofstream(file) << "the secret of all tests in here\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  ::setenv("GPUCAST_REMOTE_SECRET_FILE", file.c_str(), 0);
}

// A server over the fake driver, in a process of its own, with the environment that is set now.
class ServerProcess {
 public:
  explicit ServerProcess(int gpu) {
    give_secret();
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
    const support::Descriptor reading(ends[0]);
    support::Descriptor writing(ends[1]);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(writing.get(), STDOUT_FILENO);
      const std::string number = std::to_string(gpu);
      ::execl(GPUCAST_TEST_SERVER, GPUCAST_TEST_SERVER, "--gpu", number.c_str(), "--listen",
              "127.0.0.1:0", "--libcuda", GPUCAST_TEST_LIBCUDA, nullptr);
      ::_exit(1);
    }
    writing.reset();
    std::string said;
    for (char c = 0; c != '\n' && ::read(reading.get(), &c, 1) == 1;)
      said += c;
    address_ = said.substr(said.rfind(' ') + 1);
    address_.pop_back();
  }
  ~ServerProcess() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  const std::string& address() const { return address_; }

  // Mappings of device memory that the processes of its clients have.
  int mappings() const {
    const std::string server = std::to_string(process_);
    std::ifstream children("/proc/" + server + "/task/" + server + "/children");
    int result = 0;
    for (std::string child; children >> child;) {
      std::ifstream maps("/proc/" + child + "/maps");
      for (std::string line; std::getline(maps, line);)
        result += line.find("memfd:fake-gpu") == std::string::npos ? 0 : 1;
    }
    return result;
  }

 private:
  pid_t process_ = 0;
  std::string address_;
};

}  // namespace gpucast::remote
