// Copies from one device to another: by the servers themselves where both are of one host and the
// stream is one of theirs, through this process otherwise.
#pragma once

#include "client/copies.h"

namespace gpucast::remote::client {

void copy_between_devices(void* to, const MemoryBook::DeviceMemory& to_memory, const void* from,
                          const MemoryBook::DeviceMemory& from_memory, const Rows& rows,
                          const OnStream& stream, Waiting waiting);

}  // namespace gpucast::remote::client
