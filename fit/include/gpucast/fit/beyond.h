// What may become of a program's scaling beyond the GPU counts that were measured.
//
// A law that times kept from N_0 to N_1 GPUs may end at any N beyond: exchange that was hidden
// shows, a network begins, another algorithm is taken, or what held times up within a node no
// longer does. From there on ln T changes with ln N by a slope u, not by the law's sigma: with
// d = ln(N / N_1)
//
//     ln T(N) = ln f(N) + (u - sigma) max(0, d - b),    P(b > d) = (1 + D) / (1 + D + d)
//
// with D = ln(N_1 / N_0) and u uniform between -1, steps that fall as 1 / N, and 2/3, steps that
// grow as N^(2/3); where sigma lies outside, from or up to sigma. P is Laplace's rule of
// succession for breaks that come at a constant, unknown rate of which nothing was known but a
// prior weight of 1 of ln N, and none was seen over D.
//
// GPUs of another node are reached another way than those of the same: where all that was measured
// lies in one node, or nobody says and it is up to 8 GPUs, ln T of what lies beyond is off by one
// normal deviate more, of standard deviation 0.6.
//
// The constants are those that made programs need: training whose all-reduce shows late
// (tests/model/test_beyond.py) or whose network is not known (lab/studies/training). Sizes have
// no such term: in published tables forecasts of larger sizes were no better for one.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "gpucast/fit/student_mixture.h"

namespace gpucast::fit {

class Beyond {
 public:
  // Between which GPU counts was measured, on up to how many nodes (0: not known).
  Beyond(double least_gpus, double largest_gpus, double nodes = 0);

  // ln(N / N_1), 0 where so many were measured.
  double distance(double gpus) const;

  // The standard deviation of ln T by which another node differs; 0 where none is reached.
  double jump(double gpus, double nodes) const;

  // What a break may add to ln T at a distance, and how probable each is; first that none came.
  // `slope`: d ln T / d ln N of the law over the distance.
  struct Outcome {
    double weight;
    double added;
  };
  std::vector<Outcome> outcomes(double distance, double slope) const;

  // `count` draws of what breaks add to ln T of cells together, a row each; `slopes`: of the law
  // to each cell.
  Eigen::MatrixXd draws(const Eigen::VectorXd& gpus, const Eigen::VectorXd& slopes,
                        Eigen::Index count, std::uint64_t seed) const;

 private:
  // The ln N beyond N_1 before which a break comes with a probability.
  double begin_of(double probability) const;
  // u - sigma, u a share of the way from the least to the greatest.
  static double bend_of(double slope, double share);

  double largest_;
  double nodes_;
  double held_;  // 1 + D
};

// The 90 % interval of ln T with a break, for what it is without one; where that is the only
// outcome, or none is named, the interval without. Where ends are, the probability is known to
// 1e-4.
struct Ends {
  double low, high;
};
Ends ends(const StudentMixture& without, const std::vector<Beyond::Outcome>& outcomes);

// The mean square of what a break adds.
double mean_square(const std::vector<Beyond::Outcome>& outcomes);

}  // namespace gpucast::fit
