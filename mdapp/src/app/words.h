// The words of the program's own options.
#pragma once

#include "engine/device.h"
#include "gpucast/support/parse_word.h"
#include "physics/boundary.h"
#include "physics/motion.h"
#include "physics/salt.h"

namespace gpucast::mdapp {

enum class Precision { single, twice };

}  // namespace gpucast::mdapp

namespace gpucast::schema {

template <>
inline constexpr Words<mdapp::KernelName, 2> words<mdapp::KernelName>{
    {{mdapp::KernelName::claret, "claret"}, {mdapp::KernelName::tuned, "tuned"}}};
template <>
inline constexpr Words<mdapp::IntegratorKind, 2> words<mdapp::IntegratorKind>{
    {{mdapp::IntegratorKind::verlet, "verlet"},
     {mdapp::IntegratorKind::nose_hoover, "nose-hoover"}}};
template <>
inline constexpr Words<mdapp::ConstantSet, 2> words<mdapp::ConstantSet>{
    {{mdapp::ConstantSet::codata, "codata"}, {mdapp::ConstantSet::claret, "claret"}}};
template <>
inline constexpr Words<mdapp::Precision, 2> words<mdapp::Precision>{
    {{mdapp::Precision::single, "float"}, {mdapp::Precision::twice, "double"}}};

}  // namespace gpucast::schema
