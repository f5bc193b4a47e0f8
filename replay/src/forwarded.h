// Calls that become messages to the server of their device: rules.h and path.h say which, and what
// they cost.
//
// One ordered connection to each server takes messages both ways, and large copies have channels of
// their own beside it. A server does its messages one after another. Between them it looks for what
// the GPU has come to, and answers. Where nothing has come for `spin`, it sleeps, as does a thread
// that has waited for its answer for so long.
#pragma once

#include <deque>
#include <vector>

#include "agenda.h"
#include "devices.h"
#include "gpucast/replay/path.h"
#include "gpucast/replay/rules.h"
#include "hosts.h"

namespace gpucast::replay {

class Forwarded {
 public:
  Forwarded(const Program& program, const Path& path, Agenda& agenda, Devices& devices,
            Hosts& hosts, const Times& times);

  void call(std::int32_t call);
  void finished(Item item);
  // What::upload, uploaded, arrived, served, seen, answered and data.
  void handle(const Event& event);

 private:
  // What lies between a thread and one server.
  struct Connection {
    double up_free = 0;  // of the ordered connection,
    double down_free = 0;
    double up_last = 0;  // when what was sent last is there
    double down_last = 0;
    double bulk_up_free = 0;  // and of the channels
    double bulk_down_free = 0;
    std::deque<std::int32_t> uploads;  // large copies to the device that are not sent
    std::int64_t unread = 0;           // bytes that the server has yet to read
    std::vector<std::int32_t> waiting_for_room;
    // The host's end: threads that wait and therefore read, until when they have read what was
    // there, and what reading the rest takes.
    std::int32_t readers = 0;
    double read_until = 0;
    double to_read = 0;
    // The server.
    std::deque<std::int32_t> messages;
    bool busy = false;            // with a message
    double free = 0;              // to do anything
    double last_seen = 0;         // doing something
    std::int32_t waits = 0;       // that the GPU has not come to
    std::int32_t blocked = none;  // a message that waits for room in the device's queue
    std::int32_t freeing = none;  // a free, which waits for the whole device
    std::vector<std::int32_t> held_answers;
  };

  Manner manner_of(std::int32_t call) const;
  bool polls(std::int32_t call) const { return path_.messages.polls[at(call)] != 0; }
  std::int32_t device_of(std::int32_t call) const;
  Connection& connection_of(std::int32_t call) { return connections_[at(device_of(call))]; }
  bool to_device(std::int32_t call) const;
  bool to_host(std::int32_t call) const;
  bool large(std::int32_t call) const;
  double of_piece(std::int32_t call) const;
  bool goes_on(std::int32_t call) const;
  bool held_up(std::int32_t call, Connection& connection);
  static void begin_reading(Connection& connection, double time);
  double over_line(double& line_free, double begin, std::int64_t bytes) const;
  double through_memory(double begin, std::int64_t bytes);
  double awake(double channel_free, double time) const;
  double send(std::int32_t call, Connection& connection);
  void sent(std::int32_t call, double time);
  void next_upload(Connection& connection);
  void upload(std::int32_t call);
  void uploaded(std::int32_t call);
  void arrived(std::int32_t call);
  void serve_next(Connection& connection);
  void served(std::int32_t call);
  void act(std::int32_t call, Connection& connection);
  void ask_for_work(std::int32_t call);
  void next_message(Connection& connection);
  void seen(std::int32_t call);
  bool over(std::int32_t call) const;
  void answer(std::int32_t call);
  void bring(std::int32_t call, What what);
  void answered(std::int32_t call);
  void data(std::int32_t call);
  double data_until(std::int32_t call) const;

  const Program& program_;
  const Path& path_;
  Agenda& agenda_;
  Devices& devices_;
  Hosts& hosts_;
  const Times& times_;
  std::vector<Connection> connections_;  // a device's
  double line_up_free_ = 0;
  double line_down_free_ = 0;
  double memory_free_ = 0;
  std::vector<double> ready_;                   // of a large copy to the device: to be sent,
  std::vector<double> data_at_server_;          // with its server; 0: not known yet
  std::vector<double> taken_;                   // and its message; 0: likewise
  std::vector<std::int32_t> receiving_;         // copies of a stream whose data is on its way
  std::vector<double> data_until_;              // of a stream
  std::vector<std::int32_t> waiting_for_data_;  // blocking copies to the device
  std::vector<std::uint8_t> held_;              // calls that wait for room in a socket
  std::vector<double> asked_;                   // of a wait that polls: when first; 0: not yet
  std::vector<double> done_;                    // when the GPU had done a call's own
  std::vector<std::uint8_t> over_;              // it was over when the server was asked last
};

}  // namespace gpucast::replay
