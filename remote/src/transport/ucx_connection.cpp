#include "transport/ucx_connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "transport/blocked_signals.h"
#include "transport/program_memory.h"
#include "transport/ucx_arrivals.h"
#include "transport/ucx_library.h"

namespace gpucast::remote {
namespace {

// The messages: bytes of the stream, or nothing but how much was read.
constexpr unsigned number_of_data = 0;
constexpr unsigned number_of_credit = 1;

// Stands before both, as it lies.
struct Head {
  std::uint64_t begin = 0;  // what all that was sent before cost
  std::uint64_t read = 0;   // what all that was read cost
};

constexpr std::size_t sent_at_once = std::size_t{256} << 10;
constexpr std::uint64_t told_after = ucx_window / 4;  // of reading
constexpr std::size_t most_address = std::size_t{64} << 10;

// Wakes one thread that sleeps at descriptors.
class Alarm {
 public:
  Alarm() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!event_) throw ConnectionLost("no descriptors are left");
  }
  void ring() const noexcept { static_cast<void>(::eventfd_write(event_.get(), 1)); }
  void silence() const noexcept {
    eventfd_t ignored = 0;
    static_cast<void>(::eventfd_read(event_.get(), &ignored));
  }
  pollfd as_polled() const { return {.fd = event_.get(), .events = POLLIN, .revents = 0}; }

 private:
  support::Descriptor event_;
};

// A worker of its own with one endpoint. Nothing moves in UCX but in calls of it: whoever reads or
// writes moves both directions. Who sleeps does so at the worker's descriptor, which has to be
// armed anew whenever another thread has moved things since; that one wakes who sleeps, too, where
// it has brought what is slept for. For the same reason nothing counts as written before UCX has
// passed it on altogether: its writer may have other things to do then.
class UcxConnection : public Connection {
 public:
  explicit UcxConnection(support::Descriptor line)
      : line_(std::move(line)), worker_(make_ucx_worker()), arrivals_(worker_.get()) {
    require_ucx(ucx().worker_get_efd(worker_.get(), &events_), "ucp_worker_get_efd");
    receive(number_of_data, [](void* self, const void* head, std::size_t head_bytes, void* data,
                               std::size_t bytes, const ucp_am_recv_param_t* how) {
      return static_cast<UcxConnection*>(self)->take_data(
          {static_cast<const std::byte*>(head), head_bytes}, data, bytes, how->recv_attr);
    });
    receive(number_of_credit,
            [](void* self, const void* head, std::size_t head_bytes, void* /*none*/,
               std::size_t /*none*/, const ucp_am_recv_param_t* /*how*/) {
              static_cast<UcxConnection*>(self)->take_credit(
                  {static_cast<const std::byte*>(head), head_bytes});
              return UCS_OK;
            });
  }
  // What is under way ends first: it uses memory of this.
  ~UcxConnection() override {
    shut_down();
    const std::lock_guard lock(mutex_);
    if (endpoint_ == nullptr) return;
    ucp_request_param_t forced{};
    forced.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    forced.flags = UCP_EP_CLOSE_FLAG_FORCE;
    UcxRequest closed(opened_ucx().ep_close_nbx(endpoint_, &forced));
    // Without handling of errors there is no such end, and what is under way ends with the worker.
    const auto is_over = [&] {
      return closed.done() && (closed.status() != UCS_OK || (is_sent() && credit_.done()));
    };
    while (!is_over())
      opened_ucx().worker_progress(worker_.get());
  }
  UcxConnection(const UcxConnection&) = delete;
  UcxConnection& operator=(const UcxConnection&) = delete;

  // Where the other end reaches this one, as it is to be told.
  std::vector<std::byte> address() const {
    ucp_address_t* own = nullptr;
    std::size_t bytes = 0;
    require_ucx(ucx().worker_get_address(worker_.get(), &own, &bytes), "ucp_worker_get_address");
    const auto* const begin = reinterpret_cast<const std::byte*>(own);
    std::vector<std::byte> result(begin, begin + bytes);
    ucx().worker_release_address(worker_.get(), own);
    return result;
  }
  void reach(const std::vector<std::byte>& other) {
    ucp_ep_params_t wanted{};
    wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    wanted.address = reinterpret_cast<const ucp_address_t*>(other.data());
    wanted.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    wanted.err_handler.arg = this;
    wanted.err_handler.cb = [](void* self, ucp_ep_h /*which*/, ucs_status_t status) {
      static_cast<UcxConnection*>(self)->end(ucx().status_string(status));
    };
    const std::lock_guard lock(mutex_);
    ucs_status_t status = ucx().ep_create(worker_.get(), &wanted, &endpoint_);
    if (status == UCS_ERR_UNREACHABLE) {
      // Shared memory alone has no such handling; the line tells of the other end's.
      wanted.err_mode = UCP_ERR_HANDLING_MODE_NONE;
      status = ucx().ep_create(worker_.get(), &wanted, &endpoint_);
    }
    require_ucx(status, "ucp_ep_create");
  }

  std::size_t try_read(std::span<std::byte> into, MemoryOf whose) override {
    if (into.empty()) return 0;
    std::unique_lock lock(mutex_);
    std::span<const std::byte> from = arrivals_.front();
    if (from.empty()) {
      move_on();
      from = arrivals_.front();
    }
    if (from.empty()) {
      if (ended_) throw ConnectionLost(why_);
      return 0;
    }
    lock.unlock();
    from = from.first(std::min(from.size(), into.size()));
    if (whose == MemoryOf::program && !program_.may_write(into.first(from.size())))
      throw BadMemory("memory that is not the program's");
    std::memcpy(into.data(), from.data(), from.size());
    lock.lock();
    arrivals_.pop(from.size());
    tell_of_reading();
    return from.size();
  }

  std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                        MemoryOf whose_second) override {
    std::unique_lock lock(mutex_);
    if (ended_) throw ConnectionLost(why_);
    if (staged_ == 0) {
      if (room() == 0) move_on();
      const std::size_t most = room();
      lock.unlock();
      const std::size_t bytes = stage(first, second, most, whose_second);
      lock.lock();
      if (bytes == 0) return 0;
      send(bytes);
    }
    if (!is_sent()) move_on();
    if (ended_) throw ConnectionLost(why_);
    return is_sent() ? std::exchange(staged_, 0) : 0;
  }

  Ready wait(Ready wanted, const Deadline& deadline) override {
    std::unique_lock lock(mutex_);
    constexpr int most_looks = 100;
    int looks = 0;
    for (bool woken = false;;) {
      move_on();
      const Ready ready{.read = wanted.read && (ended_ || can_read()),
                        .write = wanted.write && (ended_ || can_write())};
      if (woken || ready.read || ready.write || milliseconds_until(deadline) == 0) return ready;
      woken = arm();
      // Where UCX's shared memory is full, nothing tells of room in it.
      sleep(lock, wanted, woken ? milliseconds_until(deadline) : ++looks < most_looks ? 0 : 1);
    }
  }

  void shut_down() noexcept override {
    ended_ = true;
    ::shutdown(line_.get(), SHUT_RDWR);
    reader_.ring();
    writer_.ring();
  }

 private:
  void receive(unsigned number, ucp_am_recv_callback_t callback) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = number;
    handler.cb = callback;
    handler.arg = this;
    require_ucx(ucx().worker_set_am_recv_handler(worker_.get(), &handler),
                "ucp_worker_set_am_recv_handler");
  }

  // ---- called by UCX, under the lock ----

  ucs_status_t take_data(std::span<const std::byte> head, void* data, std::size_t bytes,
                         std::uint64_t attributes) noexcept {
    try {
      if (!ended_ && take_credit(head)) return arrivals_.add(heard_.begin, data, bytes, attributes);
    } catch (const std::exception& error) {
      end(error.what());
    }
    return UCS_OK;  // and it is dropped
  }
  bool take_credit(std::span<const std::byte> head) noexcept {
    if (head.size() == sizeof heard_) std::memcpy(&heard_, head.data(), sizeof heard_);
    if (head.size() != sizeof heard_ || heard_.read > sent_) {
      end("the other end speaks another language");
      return false;
    }
    taken_ = std::max(taken_, heard_.read);
    return true;
  }
  void end(const char* why) noexcept {
    if (!ended_) why_ = why;
    ended_ = true;
  }

  // ---- under the lock ----

  void move_on() {
    constexpr int most_steps = 64;
    for (int k = 0; k < most_steps && ucx().worker_progress(worker_.get()) != 0; ++k) {
    }
    if (reads_ && (ended_ || can_read())) reader_.ring();
    if (writes_ && (ended_ || can_write())) writer_.ring();
    if ((reads_ || writes_) && !arm()) {
      reader_.ring();
      writer_.ring();
    }
  }
  // Whether there is nothing to move now, so that the worker's descriptor tells of what is.
  bool arm() {
    const ucs_status_t status = ucx().worker_arm(worker_.get());
    if (status != UCS_ERR_BUSY) require_ucx(status, "ucp_worker_arm");
    return status == UCS_OK;
  }
  void sleep(std::unique_lock<std::mutex>& lock, Ready wanted, int milliseconds) {
    const short gone = POLLRDHUP;
    std::array<pollfd, 4> all = {{{.fd = events_, .events = POLLIN, .revents = 0},
                                  {.fd = line_.get(), .events = gone, .revents = 0}}};
    nfds_t count = 2;
    if (wanted.read) all.at(count++) = reader_.as_polled();
    if (wanted.write) all.at(count++) = writer_.as_polled();
    if (wanted.read) reads_ = true;
    if (wanted.write) writes_ = true;
    lock.unlock();
    ::poll(all.data(), count, milliseconds);
    lock.lock();
    if (wanted.read) reads_ = false, reader_.silence();
    if (wanted.write) writes_ = false, writer_.silence();
    if (all[1].revents == 0) return;
    // What it has sent before comes first.
    while (ucx().worker_progress(worker_.get()) != 0) {
    }
    end("the other end closed the connection");
  }

  bool can_read() const { return !arrivals_.front().empty(); }
  bool can_write() { return staged_ == 0 ? room() > 0 : is_sent(); }

  // Bytes that may be sent now.
  std::size_t room() const {
    const std::uint64_t under_way = sent_ - taken_ + ucx_cost(0);
    return under_way >= ucx_window ? 0 : std::min(sent_at_once, ucx_window - under_way);
  }

  void send(std::size_t bytes) {
    head_ = {.begin = sent_, .read = told_ = arrivals_.read()};
    staged_ = bytes;
    sent_ += ucx_cost(bytes);
    content_ = {.buffer = buffer_.data(), .length = bytes};
    message_ = send(number_of_data, head_, &content_);
  }
  UcxRequest send(unsigned number, const Head& head, const ucp_dt_iov_t* content) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    // Without announcement, which would keep the writer until the other end reads.
    how.flags = UCP_AM_SEND_FLAG_EAGER;
    if (content != nullptr) {
      // Of a list, UCX takes no copy (ucx_context()), and tells when it has passed all of it on.
      how.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
      how.datatype = ucp_dt_make_iov();
    }
    return UcxRequest(ucx().am_send_nbx(endpoint_, number, &head, sizeof head, content,
                                        content == nullptr ? 0 : 1, &how));
  }
  bool is_sent() {
    if (!message_.done()) return false;
    if (message_.status() != UCS_OK) end(opened_ucx().status_string(message_.status()));
    return true;
  }
  void tell_of_reading() {
    if (ended_ || arrivals_.read() - told_ < told_after || !credit_.done()) return;
    credit_head_ = {.begin = 0, .read = told_ = arrivals_.read()};
    credit_ = send(number_of_credit, credit_head_, nullptr);
  }

  // ---- the writer's ----

  std::size_t stage(std::span<const std::byte> first, std::span<const std::byte> second,
                    std::size_t most, MemoryOf whose) {
    first = first.first(std::min(first.size(), most));
    second = second.first(std::min(second.size(), most - first.size()));
    if (whose == MemoryOf::program && !second.empty() && !program_.may_read(second))
      throw BadMemory("memory that is not the program's");
    if (buffer_.empty()) buffer_.resize(sent_at_once);
    const auto behind = std::ranges::copy(first, buffer_.begin()).out;
    std::ranges::copy(second, behind);
    return first.size() + second.size();
  }

  std::mutex mutex_;
  support::Descriptor line_;
  UcxWorker worker_;
  int events_ = -1;  // the worker's
  ucp_ep_h endpoint_ = nullptr;
  UcxArrivals arrivals_;
  ProgramMemory program_;
  std::atomic<bool> ended_{false};
  std::string why_ = "the connection is closed";
  // Threads that sleep.
  Alarm reader_;
  Alarm writer_;
  bool reads_ = false;
  bool writes_ = false;
  // What is on its way, from memory that has to stay as it is.
  std::vector<std::byte> buffer_;
  Head head_;
  ucp_dt_iov_t content_{};
  UcxRequest message_;
  std::size_t staged_ = 0;
  Head credit_head_;
  UcxRequest credit_;
  // As costs: sent, of it taken as the other end last said, read as it was last told.
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t told_ = 0;
  Head heard_;
};

std::vector<std::byte> exchange(Connection& connection, const std::vector<std::byte>& own,
                                const Deadline& deadline) {
  const std::uint32_t bytes = static_cast<std::uint32_t>(own.size());
  write_all(connection, std::as_bytes(std::span(&bytes, 1)), own, deadline);
  std::uint32_t others = 0;
  read_all(connection, std::as_writable_bytes(std::span(&others, 1)), deadline);
  if (others == 0 || others > most_address) throw ConnectionLost("no address of UCX's");
  std::vector<std::byte> result(others);
  read_all(connection, result, deadline);
  return result;
}

}  // namespace

bool has_ucx() { return true; }

std::unique_ptr<Connection> meet_over_ucx(Connection& greeted, support::Descriptor line,
                                          bool begins, const Deadline& deadline) {
  auto result = [&] {
    const BlockedSignals blocked;  // UCX has a thread of its own
    return std::make_unique<UcxConnection>(std::move(line));
  }();
  const auto other = exchange(greeted, result->address(), deadline);
  // One after the other: connections of UCX's that cross are sometimes lost (1.13, TCP).
  std::byte met{1};
  if (!begins) read_all(*result, {&met, 1}, deadline);
  result->reach(other);
  write_all(*result, {&met, 1}, {}, deadline);
  if (begins) read_all(*result, {&met, 1}, deadline);
  return result;
}

}  // namespace gpucast::remote
