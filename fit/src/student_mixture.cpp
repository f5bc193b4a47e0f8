#include "gpucast/fit/student_mixture.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "gpucast/fit/random.h"

namespace gpucast::fit {

void StudentMixture::add(double weight, double mean, double scale) {
  // Student's t with 8 degrees is within 7 of its mean but for 1e-4.
  const double low = mean - 7 * scale;
  const double high = mean + 7 * scale;
  least_ = members_.empty() ? low : std::min(least_, low);
  greatest_ = members_.empty() ? high : std::max(greatest_, high);
  mean_ += weight * mean;
  if (members_.empty() || last_ == Lanes::SizeAtCompileTime) {
    members_.emplace_back();
    last_ = 0;
  }
  Members& some = members_.back();
  some.weight[last_] = weight;
  some.mean[last_] = mean;
  some.inverse_scale[last_] = 1 / scale;
  ++last_;
}

StudentMixture::At StudentMixture::at(double x) const {
  Lanes distribution = Lanes::Zero();
  Lanes density = Lanes::Zero();
  for (const Members& some : members_) {
    const Lanes t = (x - some.mean) * some.inverse_scale;
    const Lanes root = student::root(t);
    distribution += some.weight * student::distribution(t, root);
    density += some.weight * some.inverse_scale * student::density(root);
  }
  return {distribution.sum(), density.sum()};
}

// Newton's iteration, with bisection where it leaves the bracket of the quantile.
double StudentMixture::quantile(double probability) const {
  double low = least_;
  double high = greatest_;
  double x = mean_;
  for (int i = 0; i < 100 && high - low > 1e-9; ++i) {
    const auto [distribution, density] = at(x);
    const double off = distribution - probability;
    (off < 0 ? low : high) = x;
    const double next = x - off / density;
    const double last = x;
    x = low < next && next < high ? next : .5 * (low + high);
    if (std::abs(x - last) < 1e-9) break;
  }
  return x;
}

Eigen::MatrixXd draws(const std::vector<double>& weights,
                      const std::function<Joint(std::size_t)>& member, Eigen::Index count,
                      std::uint64_t seed) {
  Random random(seed);
  // Members in proportion to their weights, by systematic sampling, so that a few draws include the
  // heavy ones.
  std::vector<std::vector<Eigen::Index>> rows(weights.size());
  double sum = weights[0];
  std::size_t current = 0;
  for (Eigen::Index draw = 0; draw < count; ++draw) {
    const double wanted =
        (static_cast<double>(draw) + random.uniform()) / static_cast<double>(count);
    while (current + 1 < weights.size() && sum < wanted)
      sum += weights[++current];
    rows[current].push_back(draw);
  }
  Eigen::MatrixXd result(count, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].empty()) continue;
    Joint one = member(i);
    const Eigen::Index size = one.mean.size();
    if (result.cols() == 0) result.resize(count, size);
    // Rounding makes the covariance of exactly known cells slightly negative.
    one.covariance.diagonal().array() += 1e-10;
    const Eigen::LDLT<Eigen::MatrixXd> factor(one.covariance);
    const Eigen::VectorXd root = factor.vectorD().cwiseMax(0).cwiseSqrt();
    for (const Eigen::Index draw : rows[i]) {
      Eigen::VectorXd deviates(size);
      for (double& deviate : deviates)
        deviate = random.normal();
      double chi2 = 0;
      for (int k = 0; k < static_cast<int>(student::freedom); ++k) {
        const double deviate = random.normal();
        chi2 += deviate * deviate;
      }
      const Eigen::VectorXd scaled = root.cwiseProduct(deviates);
      const Eigen::VectorXd correlated =
          factor.transpositionsP().transpose() * Eigen::VectorXd(factor.matrixL() * scaled);
      result.row(draw) = (one.mean + correlated * std::sqrt(student::freedom / chi2)).transpose();
    }
  }
  return result;
}

}  // namespace gpucast::fit
