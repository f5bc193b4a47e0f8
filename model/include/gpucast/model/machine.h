// What a model has to know of the GPU: counts, never timings.
#pragma once

namespace gpucast::model {

// A count of 0 means "not known"; terms that need it cannot be used then.
struct Machine {
  double cores = 0;  // c: FP32 lanes of one GPU
  double sms = 0;    // s: multiprocessors of one GPU
  double block = 0;  // b: threads a block in the kernel that was timed
};

}  // namespace gpucast::model
