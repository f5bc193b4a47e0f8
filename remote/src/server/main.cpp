// gpucast-gpu-server lends one GPU of this machine. Only this file turns errors into an exit
// status: 0, 1 if the run failed, 2 if the input is wrong.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>

#include "gpucast/support/command_line.h"
#include "gpucast/support/errors.h"
#include "security/secret.h"
#include "server/client_program.h"
#include "server/image_cache.h"
#include "server/listener.h"

namespace {

using namespace gpucast::remote;
using namespace gpucast::remote::server;
using gpucast::support::InputError;

constexpr const char* program = "gpucast-gpu-server";

struct Settings {
  ListenerOptions listener;
  SessionOptions session;
  int parent = 0;                                        // process id; 0: any
  std::uint64_t image_cache = std::uint64_t{256} << 20;  // bytes; 0: none
};

// Returns nothing if only help was requested. Only the listener may read the secret.
std::optional<Settings> parse(const std::vector<std::string>& words, bool listens) {
  Settings settings;
  std::string listen = "127.0.0.1:9700";
  std::string secret_file;
  bool plain = false;
  int spin = static_cast<int>(settings.session.spin.count());
  int silence = static_cast<int>(settings.session.most_silence.count());
  gpucast::support::CommandLine line(
      program, "Lends one GPU of this machine to CUDA programs of other machines.");
  line.add_option("--gpu", settings.session.gpu, "Number of the GPU in the driver's order")
      ->check(CLI::Range(0, 1023));
  line.add_option("--listen", listen,
                  "Addresses: host:port (port 0: any) or unix:/path, separated by commas");
  line.add_option(
          "--secret-file", secret_file,
          "File of the secret that clients need; required if other machines can connect. Default: "
          "the user's own, which clients of the same user on this machine find by themselves")
      ->envname("GPUCAST_REMOTE_SECRET_FILE");
  line.add_flag("--plain", plain,
                "Run without TLS, for clients that do so, too: data after the greeting is neither "
                "encrypted nor signed");
  line.add_option("--max-clients", settings.listener.most_clients,
                  "Maximum number of clients at a time")
      ->check(CLI::Range(1, 10000));
  line.add_flag(
      "--log-clients", settings.listener.log_clients,
      "Print a line on stderr for each client that enters or leaves, and for the signal that "
      "ends the server");
  line.add_option("--max-memory", settings.session.most_memory,
                  "Bytes of GPU memory for a client (10GB, 512MB, in units of 1024; 0: all)")
      ->transform(gpucast::support::in_bytes());
  line.add_option("--max-pinned", settings.session.most_segments,
                  "Bytes of a client's pinned memory that the server shares with it on one host "
                  "(10GB, 512MB, in units of 1024; 0: half of this host's memory)")
      ->transform(gpucast::support::in_bytes());
  line.add_option("--libcuda", settings.session.libcuda, "The driver's library")
      ->envname("GPUCAST_LIBCUDA");
  line.add_option(
          "--spin-us", spin,
          "Microseconds to poll for a client's next message, on a core of its own, before sleeping")
      ->check(CLI::Range(0, 1000000));
  line.add_option("--max-silence", silence,
                  "Seconds without a heartbeat after which a client is given up (0: never): its "
                  "program, or "
                  "a tunnel in between, is stopped")
      ->check(CLI::Range(0, 1000000));
  line.add_option("--image-cache", settings.image_cache,
                  "Bytes of programs' GPU code to keep for clients with the same program (0: none)")
      ->transform(gpucast::support::in_bytes());
  line.add_option("--with-parent", settings.parent,
                  "End when the process with this number ends, which must be the server's parent")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->default_str("");
  if (!line.parse(words, std::cout)) return std::nullopt;
  if (plain) settings.listener.security = Security::plain;
  settings.session.spin = std::chrono::microseconds(spin);
  settings.session.most_silence = std::chrono::seconds(silence);
  if (!listens) return settings;
  try {
    settings.listener.listen = parse_endpoints(listen);
    settings.listener.secret = secret_file.empty() ? make_own_secret() : read_secret(secret_file);
  } catch (const std::exception& error) {
    throw InputError(error.what());
  }
  return settings;
}

// Each client needs a descriptor of this process: raises the limit to what the system allows.
void ask_for_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns the exit status.
int run(std::vector<std::string> words) {
  std::signal(SIGPIPE, SIG_IGN);
  auto client = client_program(words);  // before other files take the numbers of its descriptors
  Log log(STDERR_FILENO);
  const bool asks = !client && asks_for_gpu(words);
  const auto settings = parse(words, !client && !asks);
  if (!settings) return 0;
  if (asks) {
    require_gpu(settings->session.libcuda, settings->session.gpu);
    return 0;
  }
  if (client) {
    client->options = settings->session;
    client->options.image_cache = client->images.get();
    serve_client(std::move(*client), log);
  }
  // Without its parent, nobody would end this process.
  if (settings->parent != 0 && !end_with_parent(settings->parent))
    throw std::runtime_error("the process of --with-parent is gone");
  constexpr int wrong_input = 2;
  if (!gpu_is_there(words)) return wrong_input;
  const auto images =
      settings->image_cache == 0 ? Descriptor() : ImageCache::make(settings->image_cache);
  ask_for_descriptors();
  const BeginClient begin = [&](int control, int others) {
    return begin_client_program(words, control, others, images);
  };
  serve_clients(settings->listener, begin, std::cout, log);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << program << ": error: " << error.what() << "\n";
    return gpucast::support::exit_status(error);
  }
}
