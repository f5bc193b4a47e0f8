// A CUDA program as its recorder sees it: loads the library that CUDA_INJECTION64_PATH names, as
// the driver would, then follows the lines on stdin:
//
//   KIND FIELD=VALUE ...   a record of CUPTI's (record_text.h)
//   init                   the first CUDA call, at which the driver loads the library
//   nvtx                   the first use of NVTX, which loads it, too; prints its answer on stdout
//   fork                   a child does the rest, and the parent waits for its end
//   steps FILE             until the file exists, steps that take 200 us by the clock: a launch
//                          with its kernel, and a blocking copy of 4 bytes
//   stamped N              N such steps, whose time stamps are exactly 200 us apart
//   say TEXT               on stdout
//   wait FILE              until the file exists
//   exit N | _exit N | kill N | return
//
// Each line is read only when it is due, so that a test can look at the state in between.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

namespace {

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void initialize() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return;
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(9);
  }
  symbol<int (*)()>(library, "InitializeInjection")();
}

// NVTX provides a table of its functions; only the stand-in for CUPTI sees it.
void initialize_ranges() {
  void* const library = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
  int table = 0;
  std::cout << "nvtx " << symbol<int (*)(void*)>(library, "InitializeInjectionNvtx2")(&table)
            << '\n'
            << std::flush;
}

void emit(const std::string& line) {
  // Empty if the program is not recorded.
  const char* const other = std::getenv("FAKE_CUPTI_EMITS");
  void* const cupti = dlopen(other != nullptr ? other : "libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cupti != nullptr) symbol<void (*)(const char*)>(cupti, "fake_cupti_emit")(line.c_str());
}

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// KIND, its time, and the call that launched it.
std::string record(const char* kind, std::int64_t start, std::int64_t microseconds, int correlation,
                   const char* more) {
  std::ostringstream line;
  line << kind << " start=" << start << " end=" << start + microseconds * 1000
       << " correlationId=" << correlation << ' ' << more;
  return line.str();
}

constexpr std::int64_t step_ns = 200'000;

void make_step(std::int64_t start, std::int64_t microseconds, int correlation) {
  emit(record("runtime", start, 5, correlation, "threadId=5 cbid=1"));
  emit(record("kernel", start + 6'000, 90, correlation, "name=_Z4axpyPf"));
  emit(
      record("copy", start + 97'000, 2, correlation + 1, "copyKind=2 srcKind=3 dstKind=1 bytes=4"));
  emit(record("runtime", start + 6'000, microseconds - 6, correlation + 1, "threadId=5 cbid=2"));
}

void wait_until(std::int64_t moment_ns) {
  while (now_ns() < moment_ns)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

void make_steps_until(const std::string& file) {
  for (int correlation = 1; !std::filesystem::exists(file); correlation += 2) {
    const std::int64_t start = now_ns();
    wait_until(start + step_ns);
    make_step(start, (now_ns() - start) / 1000, correlation);
  }
}

void make_steps(int count) {
  std::int64_t start = now_ns();
  for (int step = 0; step < count; ++step, start += step_ns)
    make_step(start, step_ns / 1000, 2 * step + 1);
  wait_until(start);
}

void wait_for(const std::string& file) {
  while (!std::filesystem::exists(file))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void become_child() {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

bool act(const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::string rest;
  words >> verb;
  std::getline(words >> std::ws, rest);
  if (verb == "init")
    initialize();
  else if (verb == "nvtx")
    initialize_ranges();
  else if (verb == "fork")
    become_child();
  else if (verb == "say")
    std::cout << rest << '\n' << std::flush;
  else if (verb == "stamped")
    make_steps(std::stoi(rest));
  else if (verb == "steps")
    make_steps_until(rest);
  else if (verb == "wait")
    wait_for(rest);
  else if (verb == "exit")
    std::exit(std::stoi(rest));
  else if (verb == "_exit")
    _exit(std::stoi(rest));
  else if (verb == "kill")
    raise(std::stoi(rest));
  else if (verb == "return")
    return false;
  else if (!verb.empty())
    emit(line);
  return true;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    if (!act(line)) break;
  return 0;
}
