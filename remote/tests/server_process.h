// Servers that run beside a test.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "tests/own_folder.h"

namespace gpucast::remote {

// Makes a secret for this process's clients and all servers that it starts, unless they have
// another.
inline void give_secret() {
  static const OwnFolder folder;
  const std::string file = folder.path() + "/secret";
  if (std::filesystem::exists(file)) return;
  std::ofstream(file) << "the secret of all tests in here\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  ::setenv("GPUCAST_REMOTE_SECRET_FILE", file.c_str(), 0);
}

// Whether the tests use shared memory.
inline bool over_shared_memory() {
  const char* transport = std::getenv("GPUCAST_REMOTE_TRANSPORT");
  return transport != nullptr && transport == std::string("shared-memory");
}

// Returns the next server's address: on loopback, or a Unix socket of its own.
inline std::string where_to_listen() {
  if (!over_shared_memory()) return "127.0.0.1:0";
  static const OwnFolder folder;
  static int count = 0;
  return "unix:" + folder.path() + "/" + std::to_string(count++);
}

// A server over the fake driver, in a process of its own, with the present environment.
class ServerProcess {
 public:
  explicit ServerProcess(int gpu, const std::vector<std::string>& options = {}) {
    give_secret();
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe");
    const support::Descriptor reading(ends[0]);
    support::Descriptor writing(ends[1]);
    const std::string listen = where_to_listen();
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(writing.get(), STDOUT_FILENO);
      std::vector<std::string> words = {GPUCAST_TEST_SERVER, "--gpu", std::to_string(gpu),
                                        "--listen",          listen,  "--libcuda",
                                        GPUCAST_TEST_LIBCUDA};
      words.insert(words.end(), options.begin(), options.end());
      std::vector<char*> arguments;
      arguments.reserve(words.size() + 1);
      for (std::string& word : words)
        arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execv(GPUCAST_TEST_SERVER, arguments.data());
      ::_exit(1);
    }
    writing.reset();
    std::string line;
    for (char c = 0; c != '\n' && ::read(reading.get(), &c, 1) == 1;)
      line += c;
    address_ = line.substr(line.rfind(' ') + 1);
    address_.pop_back();
  }
  ~ServerProcess() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  const std::string& address() const { return address_; }

  // Whether it gets this number of client processes within a minute.
  bool has_clients(std::ptrdiff_t count) const {
    constexpr int seconds = 60;
    constexpr int looks_a_second = 20;
    for (int k = 0; k < seconds * looks_a_second; ++k) {
      std::ifstream children(children_file());
      if (std::distance(std::istream_iterator<std::string>(children), {}) == count) return true;
      ::usleep(1'000'000 / looks_a_second);
    }
    return false;
  }

  // Returns the number of mappings of device memory in the processes of its clients.
  int mappings() const {
    std::ifstream children(children_file());
    int result = 0;
    for (std::string child; children >> child;) {
      std::ifstream maps("/proc/" + child + "/maps");
      for (std::string line; std::getline(maps, line);)
        result += line.find("memfd:fake-gpu") == std::string::npos ? 0 : 1;
    }
    return result;
  }

 private:
  std::string children_file() const {
    const std::string server = std::to_string(process_);
    return "/proc/" + server + "/task/" + server + "/children";
  }

  pid_t process_ = 0;
  std::string address_;
};

}  // namespace gpucast::remote
