// What may become of a program's scaling beyond the GPU counts that were measured.
//
// A law that times kept from N_0 to N_1 GPUs may end at any N beyond: exchange that was hidden
// shows, a network begins, another algorithm is taken. From there on time falls less steeply, or
// rises: with d = ln(N / N_1)
//
//     ln T(N) = ln f(N) + s max(0, d - b),    P(b > d) = (1 + D) / (1 + D + d)
//
// with D = ln(N_1 / N_0) and s uniform between 0 and 1.5: from no break at all to steps that fell
// as 1 / N and now grow as the root of N. P is Laplace's rule of succession for breaks that come at
// a constant, unknown rate of which nothing was known but a prior weight of 1 of ln N, and none was
// seen over D.
//
// The constants, and that sizes have no such term, were chosen on the published tables that priors
// were chosen on (lab/studies/programs): the log density of 551 times beyond the counts trained on
// rises by 140. A lower rate would do as well there (by 8 more), but published programs are those
// that scale.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "gpucast/fit/student_mixture.h"

namespace gpucast::fit {

class Beyond {
 public:
  // Between which GPU counts was measured.
  Beyond(double least_gpus, double largest_gpus);

  // ln(N / N_1), 0 where so many were measured.
  double distance(double gpus) const;

  // What a break may add to ln T at a distance, and how probable each is; first that none came.
  struct Outcome {
    double weight;
    double added;
  };
  std::vector<Outcome> outcomes(double distance) const;

  // `count` draws of what breaks add to ln T of cells together, a row each.
  Eigen::MatrixXd draws(const Eigen::VectorXd& gpus, Eigen::Index count, std::uint64_t seed) const;

 private:
  double largest_;
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
