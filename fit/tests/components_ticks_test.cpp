// Forms that see work end at ticks: the valley of their density in which a fit ends, compared with
// that density on a dense grid.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "components_synthetic.h"
#include "gpucast/fit/components/component_fit.h"
#include "gpucast/fit/correlation.h"
#include "gpucast/model/poll.h"

namespace gpucast::fit::components {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// t_0, t_pair, t_root; t_cpu; t_kernel, s_next; L and B of both routes
True at_ticks(double start_up, double launch) {
  return {model_of(model::Work{}, model::Linear{}, model::StarSerialPoll{}),
          {start_up, 8e-13, 2e-10, 9e-9, launch, .8, 8e-6, 2e10, 7e-6, 1.8e10},
          {.002, .02, .005}};
}
constexpr Index start_up_at = 0;
constexpr Index launch_at = 4;
const Plan few_small{{1e3, 2e3, 3e3, 4e3, 6e3, 8e3}, {1, 2, 4}, 4, true, false};

// All parameters but the kernel's start-up and the launch are known to a thousandth.
Form form_of(const True& truth, const Measured& measured) {
  std::vector<Cell> cells;
  VectorXd shortest = VectorXd::Constant(measured.size(), std::numeric_limits<double>::infinity());
  for (Index c = 0; c < measured.size(); ++c)
    cells.push_back(synthetic::step(measured.n[c], measured.gpus[c]));
  for (const Visit& visit : measured.visits)
    shortest[visit.cell] = std::min(shortest[visit.cell], visit.step);
  std::vector<std::pair<std::string, LogNormal>> known;
  const auto& list = truth.model.parameter_list();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (i != start_up_at && i != launch_at)
      known.emplace_back(list[i].name, LogNormal{std::log(truth.values[i]), 1e-3});
  return with_priors(truth.model, cells, shortest, known);
}

// Negative log density of parameters and times, up to a constant, with the processes and the noise
// of a fit.
class Density {
 public:
  Density(const Form& form, const Measured& measured, const Point& point) : form_(form) {
    const Rows rows(measured);
    at_ = sites(form.model, rows.cells);
    const MatrixXd weights = row_times(form, at_, point.z).weights;
    const VisitNoise noise(measured, rows, weights, point.amplitudes, point.disturbed);
    MatrixXd covariance = sum(Correlations(at_, at_).pieces(weights, weights), point.amplitudes);
    noise.add_to(covariance);
    precision_ = covariance.inverse();
    seen_ = noise.mean();
  }

  double cost(const VectorXd& z) const {
    const VectorXd off = seen_ - row_times(form_, at_, z).log_seconds;
    return .5 * off.dot(precision_ * off) +
           .5 * ((z - form_.median).array() / form_.sd.array()).square().sum();
  }

  // The end of Newton steps that are halved until the cost falls.
  VectorXd descended(VectorXd z) const {
    for (int i = 0; i < 100; ++i) {
      const RowTimes times = row_times(form_, at_, z);
      const VectorXd inverse_variance = form_.sd.array().square().inverse();
      MatrixXd normal = times.slopes.transpose() * precision_ * times.slopes;
      normal.diagonal() += inverse_variance;
      const VectorXd gradient =
          times.slopes.transpose() * precision_ * (seen_ - times.log_seconds) -
          inverse_variance.cwiseProduct(z - form_.median);
      VectorXd step = normal.ldlt().solve(gradient);
      while (cost(z + step) > cost(z) && step.norm() > 1e-9)
        step /= 2;
      if (step.norm() <= 1e-9) break;
      z += step;
    }
    return z;
  }

 private:
  const Form& form_;
  Sites at_;
  MatrixXd precision_;
  VectorXd seen_;
};

// The most probable point of a grid of the two unknown parameters, with the others at their
// medians, and from there downhill.
VectorXd on_the_grid(const Density& density, const Form& form) {
  VectorXd best;
  double least = std::numeric_limits<double>::infinity();
  for (const double start_up : VectorXd::LinSpaced(89, std::log(5e-7), std::log(4e-5))) {
    for (const double launch : VectorXd::LinSpaced(38, std::log(5e-7), std::log(2e-5))) {
      VectorXd z = form.median;
      z[start_up_at] = start_up;
      z[launch_at] = launch;
      if (const double cost = density.cost(z); cost < least) {
        least = cost;
        best = z;
      }
    }
  }
  return density.descended(best);
}

struct Case {
  double start_up, launch;  // s
};

class Ticks : public ::testing::TestWithParam<Case> {};

// The medians, 6 us and 3 us, lie in valleys of their own.
TEST_P(Ticks, AreFoundWhereOneStartEndsInAWrongValley) {
  const True truth = at_ticks(GetParam().start_up, GetParam().launch);
  const Measured measured = measure(truth, few_small, 7);
  const Form form = form_of(truth, measured);
  const Point fitted = fit_form(form, measured, usual_amplitudes());
  const Density density(form, measured, fitted);
  const VectorXd right = on_the_grid(density, form);
  const VectorXd one = density.descended(form.median);
  const auto start_up = [](const VectorXd& z) { return std::exp(z[start_up_at]); };

  ASSERT_GT(density.cost(one), density.cost(right) + 10);
  ASSERT_GT(std::abs(start_up(one) - start_up(right)), model::poll_tick / 4);
  EXPECT_LT(density.cost(fitted.z), density.cost(right) + .1);
  EXPECT_NEAR(start_up(fitted.z), start_up(right), model::poll_tick / 50);
  EXPECT_NEAR(start_up(fitted.z), GetParam().start_up, model::poll_tick / 20);
}

INSTANTIATE_TEST_SUITE_P(FarFromMedians, Ticks,
                         ::testing::Values(Case{8e-6, 3e-6}, Case{11e-6, 3e-6}, Case{12e-6, 5e-6},
                                           Case{16e-6, 3e-6}));

}  // namespace
}  // namespace gpucast::fit::components
