// Amplitudes of the deviations of times from the forms of their parts, and of their scatter:
// standard deviations of logarithms, each for a part of the step.
//
// The medians and their spread were estimated by marginal likelihood from the step times of two
// H200 (dataset h200-x2, 18 groups of steps, each fitted alone); a fit starts with them as priors.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "gpucast/fit/correlation.h"

namespace gpucast::fit::components {

enum Amplitude : std::size_t {
  gpu_process,   // T_gpu about its form, over its coordinate
  cpu_process,   // T_cpu about its form, over ln n
  com_process,   // T_com about its form, over ln n, the same for all N
  com_by_gpus,   // the same, over ln N, too
  gpu_of_cell,   // T_gpu of a cell alone
  com_of_cell,   // T_com of a cell alone
  gpu_of_visit,  // T_gpu of a visit
  cpu_of_visit,  // T_cpu of a visit
  com_of_visit,  // T_com of a visit
  cpu_phase,     // the host's part of a step, timed alone, against that of whole steps
  amplitude_count
};

inline constexpr std::size_t first_of_visit = gpu_of_visit;

struct About {
  std::string_view name;
  LogNormal prior;
};

inline constexpr std::array<About, amplitude_count> about_amplitudes{{
    {"gpu_process", {-3.86, .37}},
    {"cpu_process", {-2.43, .35}},
    {"com_process", {-2.38, .35}},
    // A few GPU counts do not determine it: about 14 % of T_com, as much as the question whether
    // serial copies hide.
    {"com_by_gpus", {-2.00, .35}},
    {"gpu_of_cell", {-5.64, .50}},
    {"com_of_cell", {-3.35, .35}},
    {"gpu_of_visit", {-5.67, .49}},
    {"cpu_of_visit", {-1.89, .35}},
    {"com_of_visit", {-2.50, .35}},
    {"cpu_phase", {-2.93, .36}},
}};

// Logarithms of all amplitudes.
using LogAmplitudes = Eigen::Matrix<double, amplitude_count, 1>;

inline LogAmplitudes usual_amplitudes() {
  LogAmplitudes result;
  for (std::size_t i = 0; i < amplitude_count; ++i)
    result[static_cast<Eigen::Index>(i)] = about_amplitudes[i].prior.log_median;
  return result;
}

// Correlation lengths of the processes: in the logarithms of T_gpu's coordinate and of n for T_cpu
// and T_com, and in ln N.
inline constexpr double gpu_length = 2;
inline constexpr double cpu_length = 2;
inline constexpr double com_length = 1.5;
inline constexpr double gpus_length = 1;

}  // namespace gpucast::fit::components
