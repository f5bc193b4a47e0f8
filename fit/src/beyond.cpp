#include "gpucast/fit/beyond.h"

#include <algorithm>

#include "gpucast/fit/random.h"

namespace gpucast::fit {

namespace {

constexpr double steepest_fall = -1;  // u
constexpr double steepest_rise = 2.0 / 3;
constexpr double prior_length = 1;  // ln N over which a break is expected before any was seen
constexpr int points = 8;           // of b and of u
constexpr double usual_node = 8;    // GPUs that a node may have if this is unknown
constexpr double other_node = .6;   // sd of ln T
constexpr std::uint64_t stream = 1;

constexpr double near_enough = 2e-4;  // of a probability, in the middle between two entries
constexpr double far_apart = .1;      // probability difference of adjacent entries
constexpr double resolution = 1e-6;   // of ln T

// A mixture's distribution function, which is evaluated for each outcome, as cubics between entries
// that are closer where it bends more. A cubic of twice the length misses its middle entry by no
// more than `near_enough`, so that each has about a tenth of that error.
class Distribution {
 public:
  explicit Distribution(const StudentMixture& mixture) : entries_{entry(mixture, mixture.least())} {
    fill(mixture, entries_.front(), entry(mixture, mixture.greatest()));
  }

  double low() const { return entries_.front().x; }
  double high() const { return entries_.back().x; }

  double operator()(double x) const {
    if (!(x > low())) return 0;
    if (x >= high()) return 1;
    const auto above = std::ranges::upper_bound(entries_, x, {}, &Entry::x);
    return between(*(above - 1), *above, x);
  }

 private:
  struct Entry {
    double x, value, slope;
  };

  static Entry entry(const StudentMixture& mixture, double x) {
    const auto [distribution, density] = mixture.at(x);
    return {x, distribution, density};
  }

  // Hermite's cubic, with slopes limited so that it is monotonic (Fritsch and Carlson).
  static double between(const Entry& a, const Entry& b, double x) {
    const double width = b.x - a.x;
    const double rise = b.value - a.value;
    const double t = (x - a.x) / width;
    const double of_a = std::min(a.slope * width, 3 * rise);
    const double of_b = std::min(b.slope * width, 3 * rise);
    return a.value + t * (of_a + t * (3 * rise - 2 * of_a - of_b + t * (of_a + of_b - 2 * rise)));
  }

  // Appends entries above `a` up to `b`.
  void fill(const StudentMixture& mixture, Entry a, Entry b) {
    const Entry middle = entry(mixture, .5 * (a.x + b.x));
    const bool apart = b.value - a.value > far_apart;
    const bool off = std::abs(between(a, b, middle.x) - middle.value) > near_enough;
    const bool split = (apart || off) && b.x - a.x > resolution;
    if (split) {
      fill(mixture, a, middle);
      fill(mixture, middle, b);
    } else {
      entries_.push_back(middle);
      entries_.push_back(b);
    }
  }

  std::vector<Entry> entries_;
};

// The root of a function that rises from below 0 at `low` to above 0 at `high`: false position with
// the Illinois modification, and bisection every third time.
template <class Function>
double zero_of(const Function& function, double low, double high) {
  double below = function(low);
  double above = function(high);
  bool was_below = false;
  for (int i = 0; high - low > resolution; ++i) {
    const double share = i % 3 == 2 ? .5 : below / (below - above);
    const double x = low + share * (high - low);
    const double value = function(x);
    if (std::abs(value) < 1e-7) return x;
    const bool is_below = value < 0;
    const double stays = i > 0 && is_below == was_below ? .5 : 1;
    if (is_below) {
      low = x;
      below = value;
      above *= stays;
    } else {
      high = x;
      above = value;
      below *= stays;
    }
    was_below = is_below;
  }
  return .5 * (low + high);
}

}  // namespace

Beyond::Beyond(double least_gpus, double largest_gpus, double nodes)
    : largest_(largest_gpus),
      nodes_(nodes),
      held_(prior_length + std::log(largest_gpus / least_gpus)) {}

double Beyond::distance(double gpus) const { return std::max(0.0, std::log(gpus / largest_)); }

double Beyond::jump(double gpus, double nodes) const {
  const bool known = nodes_ > 0 && nodes > 0;
  const bool reached =
      known ? nodes_ <= 1 && nodes > 1 : largest_ <= usual_node && gpus > usual_node;
  return reached ? other_node : 0;
}

std::vector<Beyond::Outcome> Beyond::outcomes(double distance, double slope) const {
  const double broken = distance / (held_ + distance);
  std::vector<Outcome> result{{1 - broken, 0}};
  if (!(broken > 0)) return result;
  for (int i = 0; i < points; ++i) {
    const double begin = begin_of((i + .5) / points * broken);
    for (int k = 0; k < points; ++k) {
      const double bend = bend_of(slope, (k + .5) / points);
      result.push_back({broken / (points * points), bend * (distance - begin)});
    }
  }
  return result;
}

Eigen::MatrixXd Beyond::draws(const Eigen::VectorXd& gpus, const Eigen::VectorXd& slopes,
                              Eigen::Index count, std::uint64_t seed) const {
  Random random(seed, stream);
  Eigen::MatrixXd result(count, gpus.size());
  for (Eigen::Index draw = 0; draw < count; ++draw) {
    const double begin = begin_of(random.uniform());
    const double share = random.uniform();
    for (Eigen::Index i = 0; i < gpus.size(); ++i)
      result(draw, i) = bend_of(slopes[i], share) * std::max(0.0, distance(gpus[i]) - begin);
  }
  return result;
}

double Beyond::begin_of(double probability) const {
  return held_ * probability / (1 - probability);
}

double Beyond::bend_of(double slope, double share) {
  const double low = std::min(steepest_fall, slope);
  const double high = std::max(steepest_rise, slope);
  return low + share * (high - low) - slope;
}

Ends ends(const StudentMixture& without, const std::vector<Beyond::Outcome>& outcomes) {
  if (outcomes.size() < 2) return {without.quantile(.05), without.quantile(.95)};
  const Distribution known(without);
  const auto [least, most] = std::ranges::minmax(outcomes, {}, &Beyond::Outcome::added);
  const auto quantile = [&](double probability) {
    const auto above = [&](double x) {
      double sum = -probability;
      for (const auto& outcome : outcomes)
        sum += outcome.weight * known(x - outcome.added);
      return sum;
    };
    return zero_of(above, known.low() + least.added, known.high() + most.added);
  };
  return {quantile(.05), quantile(.95)};
}

double mean_square(const std::vector<Beyond::Outcome>& outcomes) {
  double sum = 0;
  for (const auto& outcome : outcomes)
    sum += outcome.weight * outcome.added * outcome.added;
  return sum;
}

}  // namespace gpucast::fit
