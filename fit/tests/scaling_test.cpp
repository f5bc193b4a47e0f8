// The mixture that forecasts any program: its parts compared with values from other sources, and
// the whole on programs with known truth.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <set>
#include <string>
#include <string_view>

#include "gpucast/fit/random.h"
#include "gpucast/fit/scaling/minimize.h"
#include "gpucast/fit/scaling/mixture.h"
#include "gpucast/fit/student_mixture.h"

namespace gpucast::fit::scaling {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Truth = std::function<double(double n, double gpus)>;

std::size_t place(std::string_view term) {
  return model::scaling::term_named(term).value_or(model::scaling::terms.size());
}

Cells cells_of(const std::vector<double>& sizes, const std::vector<double>& counts,
               const Truth& truth) {
  const auto count = static_cast<Index>(sizes.size() * counts.size());
  Cells cells{VectorXd(count),       VectorXd(count),       VectorXd::Zero(count),
              VectorXd::Zero(count), VectorXd::Zero(count), VectorXd::Zero(count)};
  Index i = 0;
  for (const double n : sizes) {
    for (const double gpus : counts) {
      cells.n[i] = n;
      cells.gpus[i] = gpus;
      cells.log_seconds[i++] = std::log(truth(n, gpus));
    }
  }
  return cells;
}

VectorXd errors(const Mixture& mixture, const Cells& at) {
  const AveragedForecast forecast = mixture.forecast(at, 1);
  return (forecast.seconds.array() / at.log_seconds.array().exp() - 1).abs();
}

double distribution_of(double t) { return student::distribution(t, student::root(t)); }

// Tables of Student's t (Abramowitz and Stegun 26.10): t of 8 degrees.
TEST(Student, AgreesWithTables) {
  EXPECT_NEAR(distribution_of(1.85955), .95, 1e-6);
  EXPECT_NEAR(distribution_of(-2.30600), .025, 1e-6);
  EXPECT_NEAR(distribution_of(0), .5, 1e-15);
}

TEST(Student, DensityIsTheSlopeOfTheDistribution) {
  for (const double t : {-5.0, -1.0, 0.0, 2.5}) {
    const double slope = (distribution_of(t + 1e-4) - distribution_of(t - 1e-4)) / 2e-4;
    EXPECT_NEAR(student::density(student::root(t)), slope, 1e-7);
  }
}

TEST(Minimize, FindsTheBottomOfRosenbrocksValley) {
  const auto valley = [](const VectorXd& x) {
    return std::pow(1 - x[0], 2) + 100 * std::pow(x[1] - x[0] * x[0], 2);
  };
  const VectorXd minimum = minimize(valley, VectorXd{{-1.2, 1}}, 1e-14, 1000);
  EXPECT_NEAR(minimum[0], 1, 1e-5);
  EXPECT_NEAR(minimum[1], 1, 1e-5);
}

TEST(Process, CovarianceFallsWithDistance) {
  const Cells cells = cells_of({100, 200}, {1, 4}, [](double, double) { return 1; });
  const Amplitudes amplitudes{.01, {.2, .3, .4}};
  const MatrixXd covariance = Correlations(cells, cells).covariance(amplitudes);
  EXPECT_NEAR(covariance(0, 0), amplitudes.variance(), 1e-14);
  const double ln2 = std::numbers::ln2;  // cells 0 and 3: twice the n, 4 times the N
  EXPECT_NEAR(covariance(0, 3),
              .04 * std::exp(-ln2 / priors.length[0]) + .09 * std::exp(-ln2 / priors.length[1]) +
                  .16 * std::exp(-2 * ln2 / priors.length[2]),
              1e-14);
  const Process process(Correlations(cells, cells), amplitudes, cells);
  MatrixXd whole = covariance;
  whole.diagonal().array() += 1e-4 + 1e-10;
  EXPECT_NEAR(2 * process.log_determinant(), std::log(whole.determinant()), 1e-9);
  const VectorXd one = VectorXd::Ones(4);
  EXPECT_NEAR(process.whiten(one).squaredNorm(), one.dot(whole.inverse() * one), 1e-8);
}

// With this little noise, the coefficients are those of the data.
TEST(FormFit, FindsTheCoefficientsOfExactTimes) {
  const Cells cells = cells_of({1e4, 1e5, 1e6}, {1, 2, 8, 64}, [](double n, double gpus) {
    return 2e-9 * n / gpus + 1e-4 + 3e-5 * std::log2(gpus);
  });
  const model::scaling::Form form{{place("work"), place("start"), place("reduction")}, 0, 0};
  const Process process(Correlations(cells, cells), {1e-5, {1e-5, 1e-5, 1e-5}}, cells);
  const FormFit fit = fit_form(form, cells, process, {}, 200);
  EXPECT_NEAR(std::exp(fit.parameters[0]), 2e-9, 2e-12);
  EXPECT_NEAR(std::exp(fit.parameters[1]), 1e-4, 1e-7);
  EXPECT_NEAR(std::exp(fit.parameters[2]), 3e-5, 3e-8);
}

// Laplace's approximation is exact if the form is linear in its log coefficients: one term.
TEST(FormFit, EvidenceOfOneTermIsThatOfANormalDistribution) {
  const Cells cells =
      cells_of({1e4, 1e5}, {1, 4}, [](double n, double gpus) { return 1.1e-9 * n / gpus; });
  const model::scaling::Form form{{Priors::work_term}, 0, 0};
  const MatrixXd shape = shapes(form, cells, cells.largest_size()).value;
  const Amplitudes usual = amplitudes({});
  const Process process(Correlations(cells, cells), usual, cells);
  const FormFit fit = fit_form(form, cells, process, {}, 50);
  // ln T ~ N(ln shape + mean, covariance + log_sd^2 1 1^T)
  MatrixXd covariance = Correlations(cells, cells).covariance(usual);
  covariance.diagonal().array() += usual.noise * usual.noise + 1e-10;
  covariance.array() += priors.work_share.log_sd * priors.work_share.log_sd;
  const VectorXd seconds = cells.log_seconds.array().exp();
  const double mean =
      priors.work_share.log_median - std::log((shape.col(0).array() / seconds.array()).maxCoeff());
  const VectorXd off = cells.log_seconds.array() - shape.col(0).array().log() - mean;
  const double expected = -.5 * off.dot(covariance.inverse() * off) -
                          .5 * std::log(covariance.determinant()) -
                          2 * std::log(2 * std::numbers::pi);
  EXPECT_NEAR(fit.log_evidence, expected, 1e-6);
}

// A program with a cut-off, exchange, and a sum over all GPUs.
double cutoff(double n, double gpus) {
  const double exchange =
      gpus > 1 ? 5e-5 * std::log2(gpus) + 1e-7 * std::pow(n / gpus, 2.0 / 3) : 0;
  return 1.1e-4 + 2.6e-9 * n / gpus + exchange;
}

TEST(Scaling, ForecastsMoreGpusAndLargerSizes) {
  const Mixture mixture =
      fit_scaling(cells_of({32e3, 256e3, 864e3, 2048e3}, {1, 2, 4, 8}, cutoff), 1);
  EXPECT_LT(errors(mixture, cells_of({256e3, 2048e3}, {16, 32}, cutoff)).maxCoeff(), .05);
  EXPECT_LT(errors(mixture, cells_of({8e6}, {1, 8}, cutoff)).maxCoeff(), .05);
}

TEST(Scaling, IsNoSurerOfMoreGpusThanItsDraws) {
  const Mixture mixture = fit_scaling(cells_of({32e3, 256e3, 2048e3}, {1, 2, 4, 8}, cutoff), 1);
  const Cells at = cells_of({256e3}, {8, 16, 64}, cutoff);
  const AveragedForecast forecast = mixture.forecast(at, 1);
  const MatrixXd drawn = mixture.draws(at, 20'000, 1);
  for (Index i = 0; i < at.size(); ++i) {
    VectorXd sorted = drawn.col(i);
    std::ranges::sort(sorted);
    EXPECT_NEAR(std::log(forecast.mean_low[i]), sorted[1'000], .03);
    EXPECT_NEAR(std::log(forecast.mean_high[i]), sorted[19'000], .06);
  }
}

TEST(Scaling, FindsHowWorkGrows) {
  const auto pairs = [](double n, double gpus) { return 1e-4 + 1e-12 * n * n / gpus; };
  const Mixture mixture = fit_scaling(cells_of({1e4, 3e4, 1e5, 3e5}, {1, 2, 4}, pairs), 1);
  EXPECT_LT(errors(mixture, cells_of({3e6}, {4}, pairs)).maxCoeff(), .05);
  for (const Component& component : mixture.components()) {
    EXPECT_TRUE(component.weight < .05 ||
                model::scaling::growths[component.form.growth].name == "n^2")
        << component.form.name();
  }
}

// An exponent that is in no list is found if sizes determine it, and left open otherwise.
TEST(Scaling, LeavesThePowerOfWorkOpen) {
  const auto power = [](double n, double gpus) { return 1e-4 + 1e-10 * std::pow(n, 2.4) / gpus; };
  const Cells next = cells_of({4e3}, {4}, power);
  const Mixture known = fit_scaling(cells_of({250, 500, 1000, 2000}, {1, 2, 4}, power), 1);
  EXPECT_LT(errors(known, next).maxCoeff(), .1);
  const AveragedForecast forecast =
      fit_scaling(cells_of({1000, 2000}, {1, 2, 4}, power), 1).forecast(next, 1);
  EXPECT_LT(forecast.low[0], power(4e3, 4));
  EXPECT_GT(forecast.high[0], power(4e3, 4));
}

TEST(Scaling, FollowsMeasuredCellsWhateverTheyAre) {
  Random random(3);
  // From 8 cells on some may be unlike all others.
  for (const Index count : {1, 3, 9}) {
    const auto uniform = [&](double low, double high) {
      VectorXd values(count);
      for (double& value : values)
        value = low + (high - low) * random.uniform();
      return values;
    };
    const VectorXd n = (uniform(-1, 18) * std::numbers::ln10).array().exp();
    const VectorXd gpus = (uniform(0, 6) * std::numbers::ln10).array().exp().round();
    const VectorXd zero = VectorXd::Zero(count);
    const Cells cells{n, gpus, zero, uniform(-20, 14), zero, zero};
    const Mixture mixture = fit_scaling(cells, 1);
    const AveragedForecast forecast = mixture.forecast(cells, 1);
    ASSERT_TRUE(forecast.seconds.allFinite() && forecast.low.allFinite() &&
                forecast.high.allFinite());
    EXPECT_TRUE((forecast.seconds.array() > 0).all());
    const double widest = 4 * mixture.noise();
    EXPECT_LE(forecast.seconds.array().log().maxCoeff(), cells.log_seconds.maxCoeff() + widest);
    EXPECT_GE(forecast.seconds.array().log().minCoeff(), cells.log_seconds.minCoeff() - widest);
    const Cells far{VectorXd{{1e18, .1, 1e18}}, VectorXd{{1, 1e6, 1e6}}, VectorXd::Zero(3),
                    VectorXd::Zero(3),          VectorXd::Zero(3),       VectorXd::Zero(3)};
    const AveragedForecast beyond = mixture.forecast(far, 1);
    EXPECT_TRUE(beyond.seconds.allFinite() && (beyond.seconds.array() > 0).all());
    EXPECT_TRUE(beyond.high.allFinite() && (beyond.low.array() > 0).all());
  }
}

TEST(Scaling, KnowsLessOfMoreGpusWhereOnlyOneCountWasTimed) {
  const Mixture mixture = fit_scaling(cells_of({1e5, 1e6, 1e7}, {1}, cutoff), 1);
  const AveragedForecast forecast = mixture.forecast(cells_of({1e6}, {1, 8}, cutoff), 1);
  EXPECT_LT(std::log(forecast.high[0] / forecast.low[0]), .2);
  EXPECT_GT(std::log(forecast.high[1] / forecast.low[1]), .4);
}

// A program that uses one GPU whatever it gets, timed on one and two: the data do not suggest that
// four would be faster, but prior odds still have most programs share out their work.
TEST(Scaling, MayStayAsSlowAsWhereASecondGpuSavedNothing) {
  const auto alone = [](double n, double) { return 3e-4 + 3.1e-8 * n; };
  Cells cells = cells_of({1e5, 4e5, 16e5}, {1, 2}, alone);
  for (Index i = 0; i < cells.size(); ++i)
    cells.log_seconds[i] += i % 2 ? .01 : 0;
  const AveragedForecast of_four = fit_scaling(cells, 1).forecast(cells_of({16e5}, {4}, alone), 1);
  EXPECT_GT(of_four.high[0], alone(16e5, 4));
  EXPECT_LT(of_four.low[0], .7 * alone(16e5, 4));
  const Mixture known = fit_scaling(cells_of({1e5, 4e5, 16e5}, {1, 2, 4}, alone), 1);
  EXPECT_LT(errors(known, cells_of({16e5}, {8, 16}, alone)).maxCoeff(), .05);
}

TEST(Scaling, HasWorkOnceAndSharesOfItOnlyWhereItIsSharedOut) {
  const auto alone = [](double n, double) { return 3e-4 + 3.1e-8 * n; };
  const Mixture mixture = fit_scaling(cells_of({1e5, 4e5, 16e5}, {1, 2}, alone), 1);
  bool whole = false;
  for (const Component& component : mixture.components()) {
    const std::set<std::size_t> terms(component.form.terms.begin(), component.form.terms.end());
    EXPECT_EQ(terms.contains(place("work")) + terms.contains(place("whole")), 1)
        << component.form.name();
    if (!terms.contains(place("whole"))) continue;
    whole = true;
    for (const auto share : {"imbalance", "uneven", "jitter", "shared"})
      EXPECT_FALSE(terms.contains(place(share))) << component.form.name();
  }
  EXPECT_TRUE(whole);
}

// One cell of an otherwise exact table took twice as long: its own forecast follows it, and no
// other forecast does.
TEST(Scaling, LetsAnUnlikeCellDeviateAlone) {
  const std::vector<double> sizes{32e3, 256e3, 864e3, 2048e3};
  Cells cells = cells_of(sizes, {1, 2, 4, 8}, cutoff);
  cells.log_seconds[6] += std::numbers::ln2;
  const Mixture mixture = fit_scaling(cells, 1);
  EXPECT_GT(mixture.cells().local[6], .2);
  const VectorXd error = errors(mixture, cells);
  EXPECT_LT(error.maxCoeff(), .05);
  EXPECT_LT(errors(mixture, cells_of({400e3}, {4}, cutoff)).maxCoeff(), .05);
}

// Draws of one cell have the forecast's quantiles, within four standard errors of a share.
TEST(Scaling, DrawsAreOfTheForecast) {
  const Mixture mixture = fit_scaling(cells_of({1e5, 1e6, 1e7}, {1, 2, 4}, cutoff), 1);
  const Cells at = cells_of({5e6}, {4, 16}, cutoff);
  const AveragedForecast forecast = mixture.forecast(at, 1);
  const Index count = 4000;
  const MatrixXd draws = mixture.draws(at, count, 1);
  for (Index cell = 0; cell < 2; ++cell) {
    const double below =
        static_cast<double>((draws.col(cell).array() < std::log(forecast.mean_low[cell])).count());
    EXPECT_NEAR(below / static_cast<double>(count), .05,
                4 * std::sqrt(.05 * .95 / static_cast<double>(count)));
  }
  EXPECT_EQ(draws, mixture.draws(at, count, 1));
}

TEST(Scaling, IsTheSameOnAnyNumberOfThreads) {
  const Cells cells = cells_of({1e5, 1e6, 1e7}, {1, 2, 4}, cutoff);
  const Cells at = cells_of({2e5, 5e6}, {1, 8, 64}, cutoff);
  EXPECT_EQ(fit_scaling(cells, 1).forecast(at, 1).seconds,
            fit_scaling(cells, 3).forecast(at, 2).seconds);
}

TEST(Scaling, IsWhatItsComponentsSay) {
  const Mixture mixture = fit_scaling(cells_of({1e5, 1e6, 1e7}, {1, 2, 4}, cutoff), 1);
  const Mixture again(mixture.cells(), mixture.components(), 0);
  const Cells at = cells_of({5e6}, {4, 16}, cutoff);
  EXPECT_EQ(mixture.forecast(at, 1).low, again.forecast(at, 1).low);
  double sum = 0;
  for (const Component& component : mixture.components())
    sum += component.weight;
  EXPECT_NEAR(sum, 1, 1e-12);
}

// All-reduces are twelve times slower from 16 GPUs on than among the 8 that were timed.
TEST(Scaling, FollowsTheNetworkThatWasMeasured) {
  const Network network{VectorXd{{2, 4, 8, 16, 64}}, VectorXd{{1e-5, 2e-5, 3e-5, 8e-5, 12e-5}},
                        VectorXd{{1e-11, 1.5e-11, 1.75e-11, 2e-10, 2.1e-10}}, 1e9};
  EXPECT_EQ(network.at(1, network.latency), 0);
  EXPECT_EQ(network.at(9, network.latency), 8e-5);  // the first of another node
  EXPECT_EQ(network.at(128, network.per_byte), 2.1e-10);
  const auto training = [&](double n, double gpus) {
    return .05 + 1e-3 * n / gpus + 1e9 * network.at(gpus, network.per_byte);
  };
  Cells cells = cells_of({512}, {1, 2, 4, 8}, training);
  const Cells at = cells_of({512}, {16, 64}, training);
  EXPECT_GT(errors(fit_scaling(cells, 1), at).minCoeff(), .3);
  cells.network = network;
  const Mixture mixture = fit_scaling(cells, 1);
  EXPECT_LT(errors(mixture, at).maxCoeff(), .15);
  // The network knows other nodes, which are an additional deviation otherwise.
  const AveragedForecast forecast = mixture.forecast(at, 1);
  EXPECT_LT(std::log(forecast.high[0] / forecast.low[0]), 1);
}

// If the law's slope is as uncertain as slopes of programs are about -1, it contributes half of the
// forecast's slope.
TEST(Scaling, DrawsALawThatWasWrongHalfWayToWhereAllScales) {
  const auto flat = [](double n, double) { return 1e-3 + n * 1e-9; };
  const Mixture law = fit_scaling(cells_of({1e6}, {1, 2, 4, 8}, flat), 1);
  const Mixture doubted(law.cells(), law.components(), priors.slope_sd);
  const Cells at = cells_of({1e6}, {4, 8, 16, 32}, flat);
  const Eigen::VectorXd off = (doubted.medians(at, 1).array() / law.medians(at, 1).array()).log();
  for (Eigen::Index i = 0; i < 4; ++i)
    EXPECT_NEAR(off[i], -.5 * std::max(0.0, std::log(at.gpus[i] / 8)), .1);
  EXPECT_NEAR((doubted.forecast(at, 1).seconds - doubted.medians(at, 1)).cwiseAbs().maxCoeff(), 0,
              1e-9);
}

TEST(Scaling, PartsOfAStepSumToIt) {
  const Mixture mixture = fit_scaling(cells_of({1e5, 1e6, 1e7}, {1, 2, 4}, cutoff), 1);
  const Cells at = cells_of({5e6}, {1, 4, 16}, cutoff);
  const AveragedForecast forecast = mixture.forecast(at, 1);
  EXPECT_TRUE(forecast.parts.rowwise().sum().isApprox(forecast.seconds, 1e-12));
  EXPECT_LT(forecast.parts(0, 2), 1e-9 * forecast.seconds[0]);  // one GPU exchanges nothing
}

}  // namespace
}  // namespace gpucast::fit::scaling
