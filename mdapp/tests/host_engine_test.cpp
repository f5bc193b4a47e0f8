
#include <stdexcept>

#include "common.h"
#include "engine/host/host_device.h"

namespace gpucast::mdapp {
namespace {

System warm(int n) {
  System system = rock_salt(nacl(), n);
  set_velocities(system, 1100, 1);
  return system;
}

Workload work_of(const System& system, Slice slice, Copies copies = Copies::blocking) {
  return {.n = system.n(),
          .cations = system.cations,
          .slice = slice,
          .field = force_field<float>(system.salt, system.boundary),
          .boundary = system.boundary.kind,
          .kernel = {.name = KernelName::tuned},
          .copies = copies};
}

std::vector<Position> packed_positions(const System& system) {
  std::vector<Position> positions(static_cast<std::size_t>(system.n()));
  pack(system, {0, system.n()}, positions);
  return positions;
}

// Devices of a host engine with a slice each, and their exchange.
struct Group {
  Group(const System& system, int parts, Copies copies = Copies::queued)
      : engine(host_engine(parts)) {
    for (int g = 0; g < parts; ++g) {
      const Slice slice = slice_of(system.n(), parts, g);
      devices.push_back(engine->open(g, work_of(system, slice, copies)));
      all.push_back(devices.back().get());
      all.back()->upload_state(part(std::span(system.r), slice, 3),
                               part(std::span(system.v), slice, 3));
    }
    exchange = engine->connect(all);
  }
  host::HostDevice& device(std::size_t g) const {
    return dynamic_cast<host::HostDevice&>(*devices[g]);
  }

  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> all;
  std::unique_ptr<Exchange> exchange;
};

// Queues an error.
void break_down(Device& device) {
  dynamic_cast<host::HostDevice&>(device).worker().queue(
      [] { throw std::runtime_error("broken on purpose"); });
}

TEST(HostEngine, HasAsManyDevicesAsWanted) {
  const auto engine = host_engine(3);
  EXPECT_EQ(engine->path(), schema::Path::host);
  ASSERT_EQ(engine->devices().size(), 3U);
  EXPECT_TRUE(test::contains(engine->devices()[0].name, "thread"));
  EXPECT_FALSE(engine->devices()[0].sms.has_value());
  EXPECT_GE(host_engine()->devices().size(), 1U);
  EXPECT_GT(engine->bytes_free(0), 0);
}

TEST(HostEngine, RefusesWhatOnlyGpusHave) {
  const auto engine = host_engine(1);
  engine->check({.name = KernelName::claret});
  engine->check({.name = KernelName::tuned});
  for (const KernelChoice& choice : {KernelChoice{.block = 128}, KernelChoice{.block = -1},
                                     KernelChoice{.name = KernelName::tuned, .j_split = 4}}) {
    EXPECT_THROW(engine->check(choice), std::invalid_argument);
    const System system = warm(8);
    Workload work = work_of(system, {0, 8});
    work.kernel = choice;
    EXPECT_THROW(engine->open(0, work), std::invalid_argument);
  }
  EXPECT_THROW(engine->record({}, [] {}), std::invalid_argument);
}

TEST(HostEngine, HasNoOtherDevices) {
  const auto engine = host_engine(2);
  const System system = warm(8);
  EXPECT_THROW(engine->open(2, work_of(system, {0, 8})), std::invalid_argument);
  EXPECT_THROW(engine->open(-1, work_of(system, {0, 8})), std::invalid_argument);
}

TEST(HostDevice, CountsTheBytesThatItCopies) {
  const auto engine = host_engine(1);
  const System system = warm(100);
  const auto device = engine->open(0, work_of(system, {40, 35}));
  const auto positions = packed_positions(system);
  std::vector<Force> forces(35);
  std::vector<PairSums> sums(35);
  device->upload(positions);
  device->compute(Output::forces_and_sums);
  device->download(forces);
  EXPECT_EQ(device->traffic().h2d, 16 * 100);
  EXPECT_EQ(device->traffic().d2h, 12 * 35);
  device->download(sums);
  EXPECT_EQ(device->traffic().d2h, 20 * 35);
  device->upload_state(std::vector<double>(105), std::vector<double>(105));
  EXPECT_EQ(device->traffic().h2d, 16 * 100);
}

TEST(HostDevice, HasMemoryOfItsOwn) {
  const auto engine = host_engine(2);
  const System system = warm(64);
  const auto a = engine->open(0, work_of(system, {0, 64}));
  const auto b = engine->open(1, work_of(system, {0, 64}));
  auto positions = packed_positions(system);
  a->upload(positions);
  // Later changes of the host's own array, or copies of it to another device, have no effect.
  for (Position& p : positions)
    p.x *= 1.01F;
  b->upload(positions);
  a->compute(Output::forces);
  b->compute(Output::forces);
  std::vector<Force> of_a(64);
  std::vector<Force> of_b(64);
  a->download(of_a);
  b->download(of_b);
  EXPECT_FALSE(test::same_bits<Force>(of_a, of_b));
  a->upload(positions);
  a->compute(Output::forces);
  a->download(of_a);
  EXPECT_TRUE(test::same_bits<Force>(of_a, of_b));
}

TEST(HostDevice, ThrowsAnErrorOfWhatWasQueuedAtTheNextBlockingCall) {
  const auto engine = host_engine(1);
  const System system = warm(64);
  const auto positions = packed_positions(system);
  std::vector<Force> forces(64);

  const auto blocking = engine->open(0, work_of(system, {0, 64}, Copies::blocking));
  break_down(*blocking);
  blocking->compute(Output::forces);
  EXPECT_THROW(blocking->download(forces), DeviceError);

  const auto queued = engine->open(0, work_of(system, {0, 64}, Copies::queued));
  break_down(*queued);
  queued->upload(positions);
  queued->compute(Output::forces);
  queued->download(forces);
  EXPECT_THROW(queued->wait(), DeviceError);
}

TEST(HostDevice, MeasuresTheTimeBetweenMarks) {
  const auto engine = host_engine(1);
  const System system = warm(512);
  const auto device = engine->open(0, work_of(system, {0, 512}));
  device->upload(packed_positions(system));
  device->mark(0);
  device->compute(Output::forces);
  device->mark(1);
  device->mark(7);
  device->wait();
  EXPECT_GT(device->seconds_between(0, 1), 0);
  EXPECT_GE(device->seconds_between(1, 7), 0);
  EXPECT_NEAR(device->seconds_between(0, 7),
              device->seconds_between(0, 1) + device->seconds_between(1, 7), 1e-9);
}

TEST(HostDevice, MovesNothingOnceAForceIsNotSound) {
  const auto engine = host_engine(1);
  System system = warm(64);
  for (std::size_t a = 0; a < 3; ++a)
    system.r[60 + a] = system.r[12 + a];  // particles 20 and 4
  const auto device = engine->open(0, work_of(system, {0, 64}));
  device->upload_state(system.r, system.v);
  device->upload(packed_positions(system));
  EXPECT_FALSE(device->overlapped());
  device->compute(Output::forces);
  const Motion motion = motion_of({}, system);
  for (const auto kind : {IntegratorKind::verlet, IntegratorKind::nose_hoover}) {
    device->before_forces(motion, kind);
    device->compute(Output::forces);
    device->sum_up();
    device->after_forces(motion, kind);
    EXPECT_TRUE(device->overlapped());
  }
  std::vector<double> r(system.r.size());
  std::vector<double> v(system.v.size());
  device->download_state(r, v);
  EXPECT_EQ(r, system.r);
  EXPECT_EQ(v, system.v);
}

TEST(HostExchange, BringsEverySliceToAllDevicesAndCountsWhatTheyReceive) {
  constexpr int n = 100;
  const System system = warm(n);
  const Group group(system, 3);
  for (Device* device : group.all)
    device->before_forces(motion_of({}, system), IntegratorKind::nose_hoover);
  group.exchange->positions();
  for (std::size_t g = 0; g < 3; ++g) {
    auto& device = group.device(g);
    device.wait();
    EXPECT_TRUE(test::same_bits<Position>({device.positions(), n}, packed_positions(system)));
    EXPECT_EQ(device.traffic().exchange, 16 * (n - device.workload().slice.count));
    EXPECT_EQ(device.traffic().h2d, 0);
  }
}

TEST(HostExchange, AddsUpWhatAllDevicesSummed) {
  const Group group(warm(8), 2, Copies::blocking);
  for (const int g : {0, 1}) {
    group.device(static_cast<std::size_t>(g)).sums() = {.force = {1, g == 1 ? 10 : 0, -g},
                                                        .twice_kinetic = 5 + g};
  }
  group.exchange->add_up();
  for (std::size_t g = 0; g < 2; ++g) {
    group.device(g).wait();
    const StepSums& sums = group.device(g).sums();
    EXPECT_EQ(sums.force[0], 2);
    EXPECT_EQ(sums.force[1], 10);
    EXPECT_EQ(sums.force[2], -1);
    EXPECT_EQ(sums.twice_kinetic, 11);
  }
}

TEST(HostExchange, EndsEvenIfADeviceHasFailed) {
  Group group(warm(60), 3);
  break_down(*group.all[1]);
  for (int k = 0; k < 50; ++k) {
    group.exchange->positions();
    group.exchange->add_up();
  }
  group.exchange.reset();  // destroyed while much is still queued
  group.all[0]->wait();
  EXPECT_THROW(group.all[1]->wait(), DeviceError);
  group.all[2]->wait();
}

}  // namespace
}  // namespace gpucast::mdapp
