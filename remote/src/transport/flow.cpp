#include "transport/flow.h"

#include <utility>

#include "transport/shared_memory.h"

namespace gpucast::remote {
namespace {

class CountedConnection : public Connection {
 public:
  CountedConnection(std::unique_ptr<Connection> connection, std::shared_ptr<Flow> flow)
      : connection_(std::move(connection)), flow_(std::move(flow)) {}

  std::size_t try_read(std::span<std::byte> into, MemoryOf whose) override {
    const std::size_t got = connection_->try_read(into, whose);
    if (got > 0)
      flow_->received(got);
    else if (!into.empty())
      flow_->found_nothing();
    return got;
  }

  std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                        MemoryOf whose_second) override {
    flow_->offered(first.size() + second.size());
    const std::size_t sent = connection_->try_write(first, second, whose_second);
    flow_->taken(sent);
    return sent;
  }

  Ready wait(Ready wanted, const Deadline& deadline) override {
    if (!wanted.read) return connection_->wait(wanted, deadline);
    flow_->waits(true);
    try {
      const Ready ready = connection_->wait(wanted, deadline);
      flow_->waits(false);
      return ready;
    } catch (...) {
      flow_->waits(false);
      throw;
    }
  }

  void shut_down() noexcept override { connection_->shut_down(); }

  bool shares_memory() const override { return connection_->shares_memory(); }
  void give(const SharedMemory& memory) override { connection_->give(memory); }
  SharedMemory take(std::size_t bytes) override { return connection_->take(bytes); }

 private:
  std::unique_ptr<Connection> connection_;
  std::shared_ptr<Flow> flow_;
};

}  // namespace

std::unique_ptr<Connection> Flows::counted(std::uint8_t number,
                                           std::unique_ptr<Connection> connection) {
  auto flow = std::make_shared<Flow>();
  const std::lock_guard lock(mutex_);
  flows_[number] = flow;
  return std::make_unique<CountedConnection>(std::move(connection), std::move(flow));
}

std::map<std::uint8_t, FlowState> Flows::states() {
  std::map<std::uint8_t, FlowState> result;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, flow] : flows_)
    result[number] = flow->state();
  return result;
}

}  // namespace gpucast::remote
