// The results of a fit, by name.
#pragma once

#include <algorithm>
#include <string>

#include "gpucast/fit/fit.h"

namespace gpucast::fit::synthetic {

inline double parameter(const Fit& fitted, const std::string& name) {
  const auto& list = fitted.model.parameter_list();
  return fitted.values()[std::ranges::find(list, name, &model::Parameter::name) - list.begin()];
}

}  // namespace gpucast::fit::synthetic
