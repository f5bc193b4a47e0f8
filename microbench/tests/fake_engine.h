// Devices whose copies and launches take exactly what a test says.
#pragma once

#include "engine/engine.h"

namespace gpucast::microbench::test {

// Copies take `latency` + bytes / `rate`, and twice that beside others; an empty sample takes
// `empty`.
struct Fake {
  double latency = 2e-6;
  double rate = 50e9;
  double empty = 1e-6;
  bool correct = true;
  std::function<void()> before_each = [] {};  // may throw
  int opened = 0;
};

class FakeCopies : public CopySet {
 public:
  FakeCopies(Fake& fake, std::span<const Copy> copies)
      : fake_(fake), copies_(copies.begin(), copies.end()) {}

  double call() override {
    fake_.before_each();
    return 3 * one();
  }
  double gated(int count) override {
    fake_.before_each();
    return fake_.empty + count * one();
  }
  double between_kernels(int count, Payload payload, int /*before*/) override {
    return fake_.empty + count * (fake_.empty + (payload == Payload::copies ? one() : 0));
  }
  bool correct() override { return fake_.correct; }

 private:
  double one() const {
    const double alone = fake_.latency + static_cast<double>(copies_.front().bytes) / fake_.rate;
    return copies_.size() > 1 ? 2 * alone : alone;
  }

  Fake& fake_;
  std::vector<Copy> copies_;
};

class FakeLaunches : public Launches {
 public:
  explicit FakeLaunches(const Fake& fake) : fake_(fake) {}
  double submit(int count) override { return count * fake_.latency; }
  double sync(int count) override { return (1 + count) * fake_.latency; }
  double gated(int count) override { return fake_.empty + count * fake_.latency / 2; }
  double graph(int count) override { return count * fake_.latency / 4; }

 private:
  const Fake& fake_;
};

class FakeOverlaps : public Overlaps {
 public:
  double together(std::span<const records::OverlapPart> parts) override {
    return 1e-3 * (1 + 0.1 * static_cast<double>(parts.size() - 1));
  }
};

// Takes the sum of the copies, one after another, and the kernel.
class FakeSkeleton : public Skeleton {
 public:
  FakeSkeleton(Fake& fake, const StepShape& shape) : Skeleton(shape), fake_(fake) {}
  double kernel_seconds() override { return shape().busy + fake_.empty; }
  bool correct() override { return fake_.correct; }

 private:
  void upload(std::size_t /*k*/) override { fake_.before_each(); }
  void compute(std::size_t /*k*/) override {}
  void download(std::size_t /*k*/) override {}
  void wait(std::size_t /*k*/) override {}
  std::span<float> sent() override { return {}; }
  std::span<float> received() override { return {}; }
  std::vector<std::byte> arrived(std::size_t /*k*/) override { return {}; }

  Fake& fake_;
};

// Loops take 1 ms on the GPU and 2 on the CPU, random ones five times as long.
class FakeLoops : public HostLoops {
 public:
  explicit FakeLoops(const Fake& fake) : fake_(fake) {}
  double allocate() override { return 1e-5; }
  double first_touch() override { return 2e-4; }
  double copy() override { return 3e-4; }
  double loop(LoopPattern pattern, Runner runner) override {
    return (pattern == LoopPattern::random ? 5 : 1) * (runner == Runner::gpu ? 1e-3 : 2e-3);
  }
  bool correct() override { return fake_.correct; }

 private:
  const Fake& fake_;
};

class FakeEngine : public Engine {
 public:
  explicit FakeEngine(Fake& fake, int devices = 2) : fake_(fake), count_(devices) {}

  schema::Path path() const override { return schema::Path::native; }
  int count() const override { return count_; }
  std::vector<records::Gpu> devices() const override {
    return std::vector<records::Gpu>(static_cast<std::size_t>(count_),
                                     records::Gpu{.name = "fake"});
  }
  std::string driver() const override { return "1"; }
  std::string runtime() const override { return "2"; }
  nlohmann::ordered_json topology() const override { return {{"devices", count_}}; }
  std::optional<std::string> refuses(const Copy& copy,
                                     records::TransferMethod /*method*/) const override {
    if (copy.memory == records::Memory::mapped) return "no mapped memory here";
    return std::nullopt;
  }
  std::optional<std::string> refuses(records::LaunchMethod method) const override {
    if (method == records::LaunchMethod::graph) return "no graphs here";
    return std::nullopt;
  }
  std::optional<std::string> refuses_overlap() const override { return std::nullopt; }
  std::optional<std::string> refuses_loops(records::Memory /*memory*/,
                                           Runner /*runner*/) const override {
    return std::nullopt;
  }
  void warm_up(double /*seconds*/) override {}
  std::unique_ptr<CopySet> open(std::span<const Copy> copies) override {
    ++fake_.opened;
    return std::make_unique<FakeCopies>(fake_, copies);
  }
  std::unique_ptr<Launches> launches(int /*device*/, int /*arguments*/) override {
    return std::make_unique<FakeLaunches>(fake_);
  }
  std::unique_ptr<Overlaps> overlaps(int /*device*/, std::int64_t /*bytes*/) override {
    return std::make_unique<FakeOverlaps>();
  }
  std::unique_ptr<Skeleton> skeleton(const StepShape& shape) override {
    return std::make_unique<FakeSkeleton>(fake_, shape);
  }
  std::unique_ptr<TracedSteps> traced_steps(const TracedProgram& /*program*/) override {
    throw DeviceError("no traced steps here");
  }
  std::unique_ptr<HostLoops> host_loops(int /*device*/, records::Memory /*memory*/,
                                        std::int64_t /*bytes*/) override {
    return std::make_unique<FakeLoops>(fake_);
  }

 private:
  Fake& fake_;
  int count_;
};

}  // namespace gpucast::microbench::test
