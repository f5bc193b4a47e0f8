#include "gpucast/fit/student_mixture.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "gpucast/fit/random.h"
#include "gpucast/fit/student.h"

namespace gpucast::fit {

void StudentMixture::clear() {
  weight.clear();
  mean.clear();
  scale.clear();
}

void StudentMixture::add(double member_weight, double member_mean, double member_scale) {
  weight.push_back(member_weight);
  mean.push_back(member_mean);
  scale.push_back(member_scale);
}

double StudentMixture::distribution(double x) const {
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
    sum += weight[i] * student::distribution((x - mean[i]) / scale[i]);
  return sum;
}

// Newton's iteration, halved where it leaves what is known to hold the quantile.
double StudentMixture::quantile(double probability) const {
  double low = mean[0];
  double high = mean[0];
  double x = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    // Student's t with 8 degrees is within 7 of its mean but for 1e-4.
    low = std::min(low, mean[i] - 7 * scale[i]);
    high = std::max(high, mean[i] + 7 * scale[i]);
    x += weight[i] * mean[i];
  }
  for (int i = 0; i < 100 && high - low > 1e-9; ++i) {
    double distribution = 0;
    double density = 0;
    for (std::size_t k = 0; k < weight.size(); ++k) {
      const double t = (x - mean[k]) / scale[k];
      distribution += weight[k] * student::distribution(t);
      density += weight[k] * student::density(t) / scale[k];
    }
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
  // Members in proportion to their weights, evenly spread, so that few draws hold the heavy ones.
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
    // Rounding leaves a covariance of cells that are known exactly a little negative.
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
