#include "transport/carriers.h"

#include "transport/line.h"
#include "transport/sockets.h"

namespace gpucast::remote {
namespace {

// Over TLS, memory that others than this user and root could read would lose its protection.
bool may_share_memory(int socket, bool secure) {
  return is_unix_socket(socket) && (!secure || is_own_peer(socket));
}

constexpr std::array kinds{
    CarrierKind{.number = Carrier{1},
                .name = "shared-memory",
                .word = "shm",
                .needs = "it shares no memory with this client: that takes a unix: address, and "
                         "the same user or --plain on both sides",
                .may_carry = may_share_memory,
                .offer = offer_rings,
                .accept = accept_rings},
};

}  // namespace

std::span<const CarrierKind> carriers() { return kinds; }

const CarrierKind* find_carrier(Carrier number) {
  const auto* const kind = std::ranges::find(kinds, number, &CarrierKind::number);
  return kind == kinds.end() ? nullptr : kind;
}

}  // namespace gpucast::remote
