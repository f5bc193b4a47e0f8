// CUPTI fills the struct of its own version. Those of 12.8 and 12.9 have to begin like those of
// 13.0, which compaction.cpp reads. The offsets in the headers of 13.1 to 13.5 show that theirs do,
// too (Kernel11 to 13, Memcpy7, Memset5, CudaEvent3, Context4).
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>

#define GPUCAST_SAME_PLACE(field) \
  static_assert(offsetof(CUpti_ActivityKernel9, field) == offsetof(CUpti_ActivityKernel10, field))

GPUCAST_SAME_PLACE(registersPerThread);
GPUCAST_SAME_PLACE(start);
GPUCAST_SAME_PLACE(end);
GPUCAST_SAME_PLACE(deviceId);
GPUCAST_SAME_PLACE(contextId);
GPUCAST_SAME_PLACE(streamId);
GPUCAST_SAME_PLACE(gridX);
GPUCAST_SAME_PLACE(blockZ);
GPUCAST_SAME_PLACE(staticSharedMemory);
GPUCAST_SAME_PLACE(dynamicSharedMemory);
GPUCAST_SAME_PLACE(correlationId);
GPUCAST_SAME_PLACE(name);
GPUCAST_SAME_PLACE(graphNodeId);
GPUCAST_SAME_PLACE(graphId);
// These are the documented offsets.
static_assert(offsetof(CUpti_ActivityKernel10, start) == 16);
static_assert(offsetof(CUpti_ActivityMemcpy6, bytes) == 8);
static_assert(sizeof(CUpti_ActivityAPI) == 40);
static_assert(sizeof(CUpti_ActivitySynchronization2) == 56);

TEST(CuptiStructs, OfOlderVersionsBeginAsTheNewestDoes) { SUCCEED(); }
