#include "gpucast/fit/beyond.h"

#include <algorithm>
#include <cmath>

#include "gpucast/fit/random.h"

namespace gpucast::fit {

namespace {

constexpr double steepest = 1.5;  // s
constexpr double prior = 1;       // ln N over which a break is expected before any was looked for
constexpr int nodes = 8;          // of b and of s
constexpr int table = 128;        // entries of a distribution function
constexpr double tail = 5e-4;     // beyond the table
constexpr std::uint64_t stream = 1;

// A mixture's distribution function, tabulated: it is asked for at each outcome.
class Distribution {
 public:
  explicit Distribution(const StudentMixture& of)
      : low_(of.quantile(tail)), step_((of.quantile(1 - tail) - low_) / (table - 1)) {
    for (int i = 0; i < table; ++i)
      value_.push_back(of.distribution(low_ + i * step_));
  }

  double low() const { return low_; }
  double high() const { return low_ + (table - 1) * step_; }

  double operator()(double x) const {
    const double at = (x - low_) / step_;
    if (!(at > 0)) return 0;
    if (at >= table - 1) return 1;
    const auto below = static_cast<std::size_t>(at);
    const double share = at - static_cast<double>(below);
    return value_[below] + share * (value_[below + 1] - value_[below]);
  }

 private:
  double low_;
  double step_;
  std::vector<double> value_;
};

}  // namespace

Beyond::Beyond(double least_gpus, double largest_gpus)
    : largest_(largest_gpus), held_(prior + std::log(largest_gpus / least_gpus)) {}

double Beyond::distance(double gpus) const { return std::max(0.0, std::log(gpus / largest_)); }

std::vector<Beyond::Outcome> Beyond::outcomes(double distance) const {
  const double broken = distance / (held_ + distance);
  std::vector<Outcome> result{{1 - broken, 0}};
  if (!(broken > 0)) return result;
  for (int i = 0; i < nodes; ++i) {
    const double probability = (i + .5) / nodes * broken;
    const double begin = held_ * probability / (1 - probability);
    for (int k = 0; k < nodes; ++k) {
      const double slope = (k + .5) / nodes * steepest;
      result.push_back({broken / (nodes * nodes), slope * (distance - begin)});
    }
  }
  return result;
}

Eigen::MatrixXd Beyond::draws(const Eigen::VectorXd& gpus, Eigen::Index count,
                              std::uint64_t seed) const {
  Random random(seed, stream);
  Eigen::MatrixXd result(count, gpus.size());
  for (Eigen::Index draw = 0; draw < count; ++draw) {
    const double probability = random.uniform();
    const double begin = held_ * probability / (1 - probability);
    const double slope = steepest * random.uniform();
    for (Eigen::Index i = 0; i < gpus.size(); ++i)
      result(draw, i) = slope * std::max(0.0, distance(gpus[i]) - begin);
  }
  return result;
}

Ends ends(const StudentMixture& without, const std::vector<Beyond::Outcome>& outcomes) {
  const Distribution known(without);
  double most = 0;
  for (const auto& each : outcomes)
    most = std::max(most, each.added);
  const auto quantile = [&](double probability) {
    double low = known.low();
    double high = known.high() + most;
    while (high - low > 1e-6) {
      const double x = .5 * (low + high);
      double sum = 0;
      for (const auto& each : outcomes)
        sum += each.weight * known(x - each.added);
      (sum < probability ? low : high) = x;
    }
    return .5 * (low + high);
  };
  return {quantile(.05), quantile(.95)};
}

double mean_square(const std::vector<Beyond::Outcome>& outcomes) {
  double sum = 0;
  for (const auto& each : outcomes)
    sum += each.weight * each.added * each.added;
  return sum;
}

}  // namespace gpucast::fit
