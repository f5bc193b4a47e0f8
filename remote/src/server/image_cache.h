// Fat binaries that clients of this server have sent, by their SHA-256, so that the next client
// that runs the same program need not send them.
//
// The clients' processes share it: a file without a name, which the listener makes and they
// inherit, and a lock on it that goes with whoever is killed while he has it. What one of them puts
// in is not believed by the others: what is taken out is hashed again, and is nothing where it is
// something else; who finds the lock taken for a second goes on without. It is read and written,
// and never mapped: where a GPU reaches its host's memory, kernels reach what a process has mapped.
// The oldest make room for new ones.
//
// Whoever may ask learns whether somebody else has sent an image whose hash he knows, and may run
// it then. A server has one secret, so that he is one of those who know it, who all run what they
// like under the server's user anyway. A server with several secrets would need a cache for each.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "protocol/wire.h"
#include "security/key.h"

namespace gpucast::remote::server {

class ImageCache {
 public:
  // Room for that many bytes of images; none where the system gives no such memory.
  static support::Descriptor make(std::size_t bytes);
  // What make() has made, in this process or one that inherits it, and stays open.
  // std::runtime_error where it is something else.
  explicit ImageCache(int descriptor);

  // The image of that length; nothing where it is not there.
  std::optional<std::vector<std::byte>> get(const Digest& sha256, std::size_t bytes) const;
  // Nothing happens where it is there already, or takes more than a quarter of the room.
  void put(const Digest& sha256, Bytes image) const;

 private:
  int descriptor_;
  std::size_t room_ = 0;  // bytes of all images
};

}  // namespace gpucast::remote::server
