// What the CUDA engine opens, each from a source of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/cuda/memory.h"
#include "engine/cuda/streams.h"
#include "engine/engine.h"

namespace gpucast::microbench::cuda {

// Copies of one set on GPUs.
std::unique_ptr<CopySet> open_copies(BufferPool& pool, StreamRings& streams,
                                     std::span<const Copy> copies);

// Empty kernels, and copies beside a kernel, on one GPU.
std::unique_ptr<Launches> open_launches(StreamRings& streams, int device, int arguments);
std::unique_ptr<Overlaps> open_overlaps(BufferPool& pool, int device, std::int64_t bytes);

// A step's communication on GPUs.
std::unique_ptr<Skeleton> open_skeleton(BufferPool& pool, const StepShape& shape);

// Steps of a traced program.
std::unique_ptr<TracedSteps> open_traced_steps(TracedProgram program);

// Loops over kinds of host memory, by a GPU and by the CPU.
std::unique_ptr<HostLoops> open_host_loops(int device, records::Memory memory, std::int64_t bytes);

// What measurements on GPUs rely on: gates that cannot hang, wrong bytes that are seen, memory that
// runs out without harm.
// `no_gates`: why there are none; empty where there are.
std::vector<SelfTest> self_tests(BufferPool& pool, int devices, const std::string& no_gates);

}  // namespace gpucast::microbench::cuda
