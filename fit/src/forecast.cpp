#include "gpucast/fit/forecast.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "gpucast/fit/parallel.h"

namespace gpucast::fit {

namespace {

constexpr std::size_t grain = 256;

// The model of each replicate, made once for all forecasts.
std::vector<model::StepModel> models_of(const model::StepModel& model,
                                        const Replicates& replicates) {
  std::vector<model::StepModel> models;
  std::ranges::transform(replicates.integers, std::back_inserter(models),
                         [&](int integer) { return model.with_integer(integer); });
  return models;
}

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

Forecast forecast(const model::StepModel& model, const Eigen::VectorXd& values,
                  const Replicates& replicates, std::span<const double> n,
                  std::span<const double> gpus, unsigned threads) {
  const std::size_t count = n.size();
  Forecast result{std::vector<double>(count), std::vector<double>(count),
                  std::vector<double>(count), std::vector<double>(count)};
  const std::vector<model::StepModel> models = models_of(model, replicates);
  const RowMajor rows = replicates.values;
  parallel_for(count, threads, grain, [&](std::size_t i) {
    const auto time = model.step_seconds(values.data(), n[i], gpus[i]);
    result.gpu[i] = time.gpu;
    result.cpu[i] = time.cpu;
    result.com[i] = time.com;
    double squares = 0;
    for (std::size_t b = 0; b < models.size(); ++b) {
      const double replicate =
          models[b]
              .step_seconds(rows.row(static_cast<Eigen::Index>(b)).data(), n[i], gpus[i])
              .total();
      const double log_ratio = std::log(replicate / time.total());
      squares += log_ratio * log_ratio;
    }
    result.spread[i] =
        models.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(models.size()));
  });
  return result;
}

Eigen::MatrixXd best_probability(const model::StepModel& model, const Replicates& replicates,
                                 std::span<const double> n, std::span<const double> gpus,
                                 unsigned threads) {
  Eigen::MatrixXd share = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(n.size()),
                                                static_cast<Eigen::Index>(gpus.size()));
  const std::vector<model::StepModel> models = models_of(model, replicates);
  const RowMajor rows = replicates.values;
  parallel_for(n.size(), threads, 1, [&](std::size_t i) {
    for (std::size_t b = 0; b < models.size(); ++b) {
      const double* values = rows.row(static_cast<Eigen::Index>(b)).data();
      Eigen::Index fastest = 0;
      double least = 0;
      for (std::size_t g = 0; g < gpus.size(); ++g) {
        const double seconds = models[b].step_seconds(values, n[i], gpus[g]).total();
        if (g == 0 || seconds < least) {
          least = seconds;
          fastest = static_cast<Eigen::Index>(g);
        }
      }
      share(static_cast<Eigen::Index>(i), fastest) += 1;
    }
  });
  if (!models.empty()) share /= static_cast<double>(models.size());
  return share;
}

}  // namespace gpucast::fit
