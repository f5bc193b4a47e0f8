// gpucast-microbench check and topology: tests the properties that measurements rely on, on this
// machine's devices, and prints the machine record's description of them.
#include <new>

#include "app/command.h"
#include "gpucast/devices/engine_options.h"

namespace gpucast::microbench {
namespace {

using records::Memory;
using records::TransferMethod;

// All kinds of copies, in sizes that are no multiple of anything.
std::vector<Copy> all_copies(int devices) {
  std::vector<Copy> copies;
  for (const std::int64_t bytes : {1, 77, 4099, 1048583}) {
    for (const auto engine : {records::Engine::copy, records::Engine::kernel}) {
      for (int device = 0; device < devices; ++device) {
        for (const auto& [memory, word] : schema::words<Memory>) {
          if (memory == Memory::unknown) continue;
          copies.push_back(
              {.from = host, .to = device, .bytes = bytes, .memory = memory, .engine = engine});
          copies.push_back(
              {.from = device, .to = host, .bytes = bytes, .memory = memory, .engine = engine});
        }
        for (int other = 0; other < devices; ++other) {
          copies.push_back({.from = device, .to = other, .bytes = bytes, .engine = engine});
          if (device == other || engine == records::Engine::kernel) continue;
          copies.push_back({.from = device, .to = other, .bytes = bytes, .reads = true});
          copies.push_back({.from = device, .to = other, .bytes = bytes, .staged = true});
        }
      }
    }
  }
  return copies;
}

class Check : public Command {
 public:
  void declare(CLI::App* command) override { engine_.declare(command); }

  int run(Context& context) override {
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    auto tests = engine->self_tests();
    for (const auto method : {TransferMethod::call, TransferMethod::gated}) {
      for (Copy copy : all_copies(engine->count())) {
        // CPU devices have only pageable memory; copies between them name it.
        if (engine->path() == schema::Path::host && copy.from != host && copy.to != host)
          copy.memory = Memory::pageable;
        if (!engine->refuses(copy, method)) tests.push_back(arrives(*engine, copy, method));
      }
    }
    int passed = 0;
    int failed = 0;
    int skipped = 0;
    for (const SelfTest& test : tests) {
      if (context.interrupted.stop_requested()) break;
      if (!test.refused.empty()) {
        ++skipped;
        context.out << "skipped " << test.name << ": " << test.refused << "\n";
        continue;
      }
      const std::string why = failure(test);
      if (why.empty()) {
        ++passed;
        continue;
      }
      ++failed;
      context.out << "FAILED " << test.name << ": " << why << "\n";
    }
    context.out << passed << " passed, " << failed << " failed";
    if (skipped > 0) context.out << ", " << skipped << " skipped";
    context.out << "\n";
    return failed > 0 || context.interrupted.stop_requested() ? 1 : 0;
  }

 private:
  static SelfTest arrives(Engine& engine, const Copy& copy, TransferMethod method) {
    return {
        describe(copy) + " " + support::name(method) + ", " + std::to_string(copy.bytes) + " bytes",
        [&engine, copy, method] {
          const auto copies = engine.open({&copy, 1});
          if (copies->correct()) throw DeviceError("arrived before it was sent");
          method == TransferMethod::call ? copies->call() : copies->gated(3);
          if (!copies->correct())
            throw DeviceError("the data that arrived differs from the data that was sent");
        }};
  }

  // Returns why a test failed; empty if it passed.
  static std::string failure(const SelfTest& test) {
    try {
      test.run();
    } catch (const DeviceError& error) {
      return error.what();
    } catch (const std::bad_alloc&) {
      return "out of memory";
    }
    return "";
  }

  devices::EngineOptions engine_;
};

class Topology : public Command {
 public:
  void declare(CLI::App* command) override { engine_.declare(command); }

  int run(Context& context) override {
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    constexpr int indent = 1;
    context.out << to_json(machine_record(*engine, context, "")).dump(indent) << "\n";
    return 0;
  }

 private:
  devices::EngineOptions engine_;
};

}  // namespace

std::unique_ptr<Command> topology_command() { return std::make_unique<Topology>(); }
std::unique_ptr<Command> check_command() { return std::make_unique<Check>(); }

}  // namespace gpucast::microbench
