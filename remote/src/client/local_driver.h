// Keeps a program with remote GPUs from this machine's own.
#pragma once

namespace gpucast::remote::client {

// Puts the driver over which nothing computes (guard/libcuda.cpp) into the process, so that whoever
// opens libcuda.so.1 from now on is given that one, and ends the program where the machine's driver
// is there already. Does nothing if GPUCAST_REMOTE_MIXED=allow.
void keep_out_local_driver();

}  // namespace gpucast::remote::client
