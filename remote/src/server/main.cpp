// gpucast-gpu-server: lends one GPU of this machine. Only this file turns errors into an exit
// status: 0, 1 the run failed, 2 the input is wrong.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "gpucast/records/errors.h"
#include "security/secret.h"
#include "server/client_process.h"
#include "server/door.h"

namespace {

using namespace gpucast::remote;
using gpucast::records::InputError;

struct Options {
  DoorOptions door;
  SessionOptions session;
  std::vector<std::string> listen = {"127.0.0.1:9700"};
  std::string secret_file;
  long spin_microseconds = 50;
};

// False where only help was asked for.
bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Lends one GPU of this machine to CUDA programs of other machines.",
               "gpucast-gpu-server");
  app.set_version_flag("--version", GPUCAST_VERSION);
  app.add_option("--gpu", options.session.gpu, "Which GPU, as the driver counts")
      ->check(CLI::Range(0, 1023))
      ->capture_default_str();
  app.add_option("--listen", options.listen, "host:port (port 0: any) or unix:/path")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--secret-file", options.secret_file,
                 "Shared with the clients; needed where other machines can connect")
      ->envname("GPUCAST_REMOTE_SECRET_FILE");
  app.add_option("--max-clients", options.door.most_clients, "At the same time")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--max-memory", options.session.most_memory,
                 "Bytes of GPU memory for a client (10GB, 512MiB; 0: all)")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--libcuda", options.session.libcuda, "The driver's library")
      ->envname("GPUCAST_LIBCUDA")
      ->capture_default_str();
  app.add_option("--spin-us", options.spin_microseconds,
                 "Microseconds of looking for the next message before sleeping")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    return false;
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::ranges::replace(text, '\n', ' ');
    throw InputError(text + "; see --help");
  }
  try {
    for (const std::string& each : options.listen)
      options.door.listen.push_back(parse_endpoint(each));
    if (!options.secret_file.empty()) options.door.secret = read_secret(options.secret_file);
  } catch (const std::exception& error) {
    throw InputError(error.what());
  }
  options.session.spin = std::chrono::microseconds(options.spin_microseconds);
  return true;
}

int run(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) return 0;
  std::signal(SIGPIPE, SIG_IGN);
  if (auto client = keep_door(options.door, std::cout, std::cerr)) {
    serve_client(std::move(*client), options.session, std::cerr);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "gpucast-gpu-server: error: " << error.what() << "\n";
    return gpucast::records::exit_status(error);
  }
}
