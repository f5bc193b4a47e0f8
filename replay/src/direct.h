// Calls that the host makes to the driver itself.
#pragma once

#include <vector>

#include "agenda.h"
#include "devices.h"
#include "gpucast/replay/path.h"
#include "hosts.h"

namespace gpucast::replay {

class Direct {
 public:
  Direct(const Program& program, const Path& path, Agenda& agenda, Devices& devices, Hosts& hosts,
         const Times& times)
      : program_(program),
        path_(path),
        agenda_(agenda),
        devices_(devices),
        hosts_(hosts),
        times_(times) {}

  void call(std::int32_t call);
  void finished(Item item);
  void handle(const Event& /*event*/) {}

 private:
  bool held_up(std::int32_t call);
  void ask_for_work(std::int32_t call);
  void wait_for_set(std::int32_t call);

  const Program& program_;
  const Path& path_;
  Agenda& agenda_;
  Devices& devices_;
  Hosts& hosts_;
  const Times& times_;
  std::vector<std::int32_t> waiting_for_room_;  // in a device's queue
};

// Marks in streams: an event's record, and a stream's wait for one.
void mark(const Program& program, Devices& devices, std::int32_t call);
// What a host's wait of Waits::set is for: an item that is done when that is.
void mark_set(const Program& program, Devices& devices, std::int32_t call);

}  // namespace gpucast::replay
