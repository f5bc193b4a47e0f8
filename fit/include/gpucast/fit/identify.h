// Identifiability: the rank of the data, and the parameters and combinations that they determine.
//
// Contract, based on the weighted Jacobian of the cell times in linear coordinates u (a time, or
// 1/B):
//  - `rank`: singular values above 1e-8 of the largest, columns scaled to norm 1 first, so that
//    units do not matter. Derivatives are exact (ceres::Jet), so dependent columns come out at
//    about 1e-15.
//  - a parameter is identified if no null direction moves it. Only then it has a standard error.
//  - `combinations`: the reduced row-echelon form of the row space, in parameter order, written as
//    leading parameter + coefficient x others: each is identified although its members are not.
//    For the paper's model and steps alone these are t_cpu + 12/B_d2h and t_kernel + L_h2d + L_d2h.
//  - variances are those of estimable functions a'u with a in the row space; there, (J'J)^-1
//    restricted to the row space is *the* covariance, not a choice among pseudo-inverses. They
//    include the loss of efficiency of the robust weights (Huber 1981, section 7.6).
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "gpucast/fit/estimate.h"

namespace gpucast::fit {

struct Combination {
  std::vector<std::pair<std::size_t, double>> terms;  // (parameter index, coefficient of u)

  // "t_cpu + 12/B_d2h"
  std::string expression(const std::vector<model::Parameter>& parameters) const;

  // The combination's value for the model's parameter values.
  double value(const std::vector<model::Parameter>& parameters, const double* values) const;
};

struct Identification {
  std::size_t rank = 0;
  std::vector<bool> identified;        // per parameter
  std::vector<bool> observed;          // false: no cell depends on it at all
  std::vector<double> largest_share;   // largest share of any cell's time that it accounts for
  std::vector<double> relative_error;  // standard error of the parameter / its value; NaN if none
  std::vector<Combination> combinations;  // of parameters that are not identified alone
  std::vector<double> combination_error;  // standard error of each, in its own unit
};

Identification identify(const model::StepModel& model, const Observations& observations,
                        const Estimate& estimate);

}  // namespace gpucast::fit
