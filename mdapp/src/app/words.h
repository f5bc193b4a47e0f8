// The words of the program's options, read and listed as those of records.
#pragma once

#include "engine/device.h"
#include "engine/host_memory.h"
#include "gpucast/records/words.h"
#include "physics/boundary.h"
#include "physics/motion.h"
#include "physics/salt.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

enum class EngineChoice { automatic, host, cuda };
enum class Precision { single, twice };

}  // namespace gpucast::mdapp

namespace gpucast::support {

template <>
inline constexpr Words<mdapp::ScheduleName, 4> words<mdapp::ScheduleName>{
    {{mdapp::ScheduleName::star_serial, "star-serial"},
     {mdapp::ScheduleName::star_async, "star-async"},
     {mdapp::ScheduleName::allgather, "allgather"},
     {mdapp::ScheduleName::mpi, "mpi"}}};
template <>
inline constexpr Words<mdapp::KernelName, 2> words<mdapp::KernelName>{
    {{mdapp::KernelName::claret, "claret"}, {mdapp::KernelName::tuned, "tuned"}}};
template <>
inline constexpr Words<mdapp::Memory, 2> words<mdapp::Memory>{
    {{mdapp::Memory::pageable, "pageable"}, {mdapp::Memory::pinned, "pinned"}}};
template <>
inline constexpr Words<mdapp::BoundaryKind, 3> words<mdapp::BoundaryKind>{
    {{mdapp::BoundaryKind::open, "open"},
     {mdapp::BoundaryKind::dsf, "dsf"},
     {mdapp::BoundaryKind::minimum_image, "minimum-image"}}};
template <>
inline constexpr Words<mdapp::IntegratorKind, 2> words<mdapp::IntegratorKind>{
    {{mdapp::IntegratorKind::verlet, "verlet"},
     {mdapp::IntegratorKind::nose_hoover, "nose-hoover"}}};
template <>
inline constexpr Words<mdapp::ConstantSet, 2> words<mdapp::ConstantSet>{
    {{mdapp::ConstantSet::codata, "codata"}, {mdapp::ConstantSet::claret, "claret"}}};
template <>
inline constexpr Words<mdapp::EngineChoice, 3> words<mdapp::EngineChoice>{
    {{mdapp::EngineChoice::automatic, "auto"},
     {mdapp::EngineChoice::host, "host"},
     {mdapp::EngineChoice::cuda, "cuda"}}};
template <>
inline constexpr Words<mdapp::Precision, 2> words<mdapp::Precision>{
    {{mdapp::Precision::single, "float"}, {mdapp::Precision::twice, "double"}}};

}  // namespace gpucast::support
