// Fat binaries that clients of this server have sent, by their SHA-256, so that the next client
// with the same program need not send them.
//
// The clients' processes share the cache: it is a file without a name, which the listener makes and
// they inherit, and a lock on it that is released if its holder is killed. They do not trust one
// another: an image is hashed when it is taken out, and ignored if the hash differs; a process that
// has waited a second for the lock goes on without it. The file is read and written, but never
// mapped: where a GPU reaches its host's memory, kernels reach everything that a process has
// mapped. New images replace the oldest.
//
// A client can find out whether another one has sent an image with a known hash, and may then run
// it. All clients know the server's only secret, and may run anything as the server's user anyway.
// A server with several secrets would need a cache for each.
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
  // Makes a cache for this many bytes of images; none if the system provides no such memory.
  static support::Descriptor make(std::size_t bytes);
  // Takes the descriptor that make() has returned, in this process or in one that has inherited it;
  // it stays open. Throws std::runtime_error if it is something else.
  explicit ImageCache(int descriptor);

  // Returns the image of this length; nothing if the cache does not have it.
  std::optional<std::vector<std::byte>> get(const Digest& sha256, std::size_t bytes) const;
  // Does nothing if the image is stored already, or takes more than a quarter of the room.
  void put(const Digest& sha256, Bytes image) const;

 private:
  int descriptor_;
  std::size_t room_ = 0;  // bytes of all images
};

}  // namespace gpucast::remote::server
