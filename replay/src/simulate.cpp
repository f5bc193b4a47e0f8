#include "gpucast/replay/simulate.h"

#include <limits>

#include "agenda.h"
#include "check.h"
#include "devices.h"
#include "direct.h"
#include "forwarded.h"
#include "hosts.h"

namespace gpucast::replay {
namespace {

template <class Calls>
void run(const Program& program, const Path& path, Times& times) {
  Agenda agenda;
  Devices devices(program, path, agenda);
  Hosts hosts(program, agenda, times);
  Calls calls(program, path, agenda, devices, hosts, times);
  hosts.start();
  while (!agenda.empty()) {
    const Event event = agenda.next();
    switch (event.what) {
      case What::host:
        calls.call(hosts.next_call(event.about));
        break;
      case What::again:
        calls.call(event.about);
        break;
      case What::eligible:
        devices.eligible(event.about);
        break;
      case What::finished:
        calls.finished(devices.finish(event.about));
        break;
      case What::shares: {
        const Item item = devices.finish_shared(event.about, event.version);
        if (item != none) calls.finished(item);
        break;
      }
      default:
        calls.handle(event);
    }
  }
  if (!hosts.all_returned()) throw std::invalid_argument("calls wait for one another in a circle");
  for (std::size_t call = 0; call < program.size(); ++call) {
    times.work[call] = devices.work_begun(static_cast<std::int32_t>(call));
    times.work_done[call] = devices.work_done(static_cast<std::int32_t>(call));
  }
}

}  // namespace

Times simulate(const Program& program, const Path& path) {
  check(program, path);
  constexpr double no_time = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> column(program.size(), no_time);
  Times times{column, column, column, column};
  if (path.transport == Transport::direct) {
    run<Direct>(program, path, times);
  } else {
    run<Forwarded>(program, path, times);
  }
  return times;
}

}  // namespace gpucast::replay
