#include "client/settings.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "end_program.h"

namespace gpucast::remote::client {
namespace {

constexpr const char* driver = "libcuda.so.1";

bool is_allowed() {
  const char* const mixed = std::getenv("GPUCAST_REMOTE_MIXED");
  return mixed != nullptr && std::string_view(mixed) == "allow";
}

// The guard library, which lies beside this library.
std::filesystem::path guard() {
  Dl_info own{};
  ::dladdr(reinterpret_cast<const void*>(&keep_out_local_driver), &own);
  return std::filesystem::path(own.dli_fname).replace_filename(driver);
}

// The file of a driver other than ours, in any namespace of the loader; empty if there is none.
std::string local_driver(const std::filesystem::path& guard) {
  std::error_code none;
  const auto ours = std::filesystem::canonical(guard, none);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto begin = line.find('/');
    if (begin == std::string::npos) continue;
    const std::filesystem::path file(line.substr(begin));
    if (file.filename().string().starts_with("libcuda.so") && file != ours) return file;
  }
  return {};
}

// The client may be loaded long before it is called.
__attribute__((constructor)) void at_start() {
  if (std::getenv("GPUCAST_REMOTE") != nullptr) keep_out_local_driver();
}

}  // namespace

void keep_out_local_driver() {
  if (is_allowed()) return;
  // If a program finds a driver nevertheless, that has no GPU to show.
  [[maybe_unused]] static const int hidden = ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const std::filesystem::path path = guard();
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    end_program((std::string(::dlerror()) + ": it belongs beside the client").c_str());
  const std::string local = local_driver(path);
  if (local.empty()) return;
  end_program((std::string(program_invocation_name) + ": " + local +
               ", this machine's CUDA driver, is loaded already: the program or a library of it "
               "would compute on a GPU of this machine, past the remote ones "
               "(gpucast remote run --allow-local-cuda lets it)")
                  .c_str());
}

}  // namespace gpucast::remote::client
