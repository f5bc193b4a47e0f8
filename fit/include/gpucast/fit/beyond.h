// What may happen to a program's scaling beyond the measured GPU counts.
//
// A law that has described times from N_0 to N_1 GPUs may end at any larger N: hidden exchange
// becomes visible, a network begins, another algorithm is used, or something that has limited times
// within a node no longer does. From there on ln T changes with ln N by a slope u, and not by the
// law's sigma: with d = ln(N / N_1)
//
//     ln T(N) = ln f(N) + (u - sigma) max(0, d - b),    P(b > d) = (1 + D) / (1 + D + d)
//
// with D = ln(N_1 / N_0) and u uniform between -1, steps that fall as 1 / N, and 2/3, steps that
// grow as N^(2/3); if sigma lies outside, the interval extends to sigma. P is Laplace's rule of
// succession for breaks that come at a constant, unknown rate, with a prior weight of 1 of ln N,
// when none was seen over D.
//
// GPUs of another node are reached by another way than those of the same node: if all measurements
// lie in one node, or the number of nodes is unknown and there are up to 8 GPUs, ln T beyond them
// has an additional normal deviation with standard deviation 0.6.
//
// The constants are those that made programs need: training whose all-reduce shows late
// (tests/model/test_beyond.py) or whose network is unknown (lab/studies/training). Sizes have no
// breaks: in published tables they did not improve forecasts of larger sizes.
#pragma once

#include "gpucast/fit/student_mixture.h"

namespace gpucast::fit {

class Beyond {
 public:
  // The range of measured GPU counts, on up to this number of nodes (0: unknown).
  Beyond(double least_gpus, double largest_gpus, double nodes = 0);

  // ln(N / N_1), 0 within the measured range.
  double distance(double gpus) const;

  // The standard deviation of ln T by which another node differs; 0 if none is reached.
  double jump(double gpus, double nodes) const;

  // The additions of a break to ln T at a distance, and their probabilities; the first is no break.
  // `slope`: d ln T / d ln N of the law over the distance.
  struct Outcome {
    double weight;
    double added;
  };
  std::vector<Outcome> outcomes(double distance, double slope) const;

  // `count` draws of the additions of breaks to ln T of several cells together, a row each;
  // `slopes`: of the law to each cell.
  Eigen::MatrixXd draws(const Eigen::VectorXd& gpus, const Eigen::VectorXd& slopes,
                        Eigen::Index count, std::uint64_t seed) const;

 private:
  // The ln N beyond N_1 before which a break comes with this probability.
  double begin_of(double probability) const;
  // u - sigma for u at this share of the way from the smallest to the largest.
  static double bend_of(double slope, double share);

  double largest_;
  double nodes_;
  double held_;  // 1 + D
};

// The 90 % interval of ln T with a break, given the distribution without one; the interval without
// if there are no outcomes but that. At the ends the probability is accurate to 1e-4.
struct Ends {
  double low, high;
};
Ends ends(const StudentMixture& without, const std::vector<Beyond::Outcome>& outcomes);

// The mean square of a break's addition.
double mean_square(const std::vector<Beyond::Outcome>& outcomes);

}  // namespace gpucast::fit
