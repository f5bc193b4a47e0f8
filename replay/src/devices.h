// The GPUs' side: what holds an item back, stream by stream, and what its end sets free.
//
// An item begins once it has been asked for long enough (eligible), once all before it in its
// stream is done, once what else it was told to wait for is done, and once its engine has room.
// The legacy default stream and the blocking streams of its device wait for one another: an item of
// it waits for the last of each of these, and an item of these for the last of it. (Through the
// stream's order that stands for all before.)
#pragma once

#include <cstdint>
#include <vector>

#include "agenda.h"
#include "engines.h"
#include "gpucast/replay/path.h"
#include "gpucast/replay/program.h"
#include "index.h"

namespace gpucast::replay {

class Devices {
 public:
  Devices(const Program& program, const Path& path, Agenda& agenda);

  static Item work_of(std::int32_t call) { return 2 * call; }
  // What a call waits for before its own work.
  static Item before(std::int32_t call) { return 2 * call + 1; }
  static std::int32_t call_of(Item item) { return item / 2; }

  // Puts an item into a stream. It is held until `release`, and may wait for more until then.
  void submit(Item item, std::int32_t stream);
  // One that is in no stream.
  void hold(Item item);
  void wait_for(Item item, Item other);
  void wait_for_device(Item item, std::int32_t device);
  void wait_for_stream(Item item, std::int32_t stream);
  // All later items of the device wait for this one.
  void fence(Item item, std::int32_t device);
  // It may begin from then on.
  void release(Item item, double eligible);
  // Only so many of the engine's seconds are left.
  void shorten(Item item, double seconds) { left_[at(item / 2)] = seconds; }

  void eligible(Item item) { let_go(item, agenda_.now(), none); }
  // At What::finished and What::shares: what is done by that, or none.
  Item finish(Item item);
  Item finish_shared(std::int32_t engine, std::uint32_t version);

  bool done(Item item) const { return done_[at(item)] != 0; }
  bool is_work(Item item) const { return item % 2 == 0 && engine(item) != none; }
  std::int32_t queued(std::int32_t device) const { return queued_[at(device)]; }
  double work_begun(std::int32_t call) const { return begun_[at(call)]; }
  double work_done(std::int32_t call) const { return ended_[at(call)]; }

 private:
  struct Edge {
    Item item = none;
    std::int32_t next = none;
  };
  std::int32_t engine(Item item) const { return program_.engine[at(item / 2)]; }
  void let_go(Item item, double ready, Item by);
  void begin(Item item);
  Item end(Item item);
  double seen(Item item) const;
  void note_begun();

  const Program& program_;
  const Path& path_;
  Agenda& agenda_;
  Engines engines_;

  // An entry an item.
  std::vector<std::int32_t> holds_;
  std::vector<double> ready_;
  std::vector<std::int32_t> dependents_;
  std::vector<std::uint8_t> done_;
  std::vector<std::uint8_t> submitted_;
  std::vector<std::int32_t> through_;  // the engine of the last work that it waited for
  std::vector<double> freed_;          // when that was done
  // An entry a call.
  std::vector<double> eligible_;
  std::vector<double> left_;
  std::vector<double> begun_;
  std::vector<double> ended_;

  std::vector<Edge> edges_;
  std::int32_t free_edge_ = none;

  std::vector<Item> last_;                            // of a stream
  std::vector<std::int32_t> legacy_;                  // a device's default stream
  std::vector<std::vector<std::int32_t>> blocking_;   // a device's
  std::vector<std::vector<std::int32_t>> of_device_;  // all its streams
  std::vector<Item> fence_;                           // of a device
  std::vector<std::int32_t> queued_;                  // works of a device
};

}  // namespace gpucast::replay
