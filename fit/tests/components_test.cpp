// The mixture over forms of the parts of a step, for programs with known truth.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numeric>
#include <stdexcept>

#include "components_synthetic.h"
#include "gpucast/fit/components/component_mixture.h"

namespace gpucast::fit::components {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

std::string describe(const model::StepModel& model) {
  const model::StepTerms terms = model.terms().value_or(model::StepTerms{});
  return std::string(name(terms.gpu)) + "+" + std::string(name(terms.com));
}

AveragedForecast forecast_of(const Mixture& mixture, const VectorXd& n, const VectorXd& gpus,
                             unsigned threads = 1) {
  const VectorXd none = VectorXd::Zero(n.size());
  return mixture.forecast({n, gpus, VectorXd::Ones(n.size()), none, none}, threads);
}

double ratio_off(double actual, double expected) { return std::abs(actual / expected - 1); }

// The error of the largest component's parameters, in standard errors.
double worst_parameter(const Mixture& mixture, const True& truth) {
  const FormFit& fit = mixture.fit_of(0);
  const VectorXd values =
      VectorXd::Map(truth.values.data(), static_cast<Index>(truth.values.size()));
  const VectorXd z = synthetic::log_from_values(truth.model, values);
  const Index count = z.size();
  return ((fit.point().z.head(count) - z).array() / fit.errors().head(count).array())
      .abs()
      .maxCoeff();
}

// 3.5 standard errors of some 9 to 15 parameters: passed by chance 199 times of 200.
TEST(Components, FindsParametersWithinTheirErrors) {
  for (const True& truth : {by_work(), by_blocks()}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      const Measured measured = measure(truth, {seven_sizes, {1, 2, 4}, 4, true, false}, seed);
      const Mixture mixture = fit_components(measured, {{truth.model, 0, {}}}, 1);
      EXPECT_LT(worst_parameter(mixture, truth), 3.5) << seed;
    }
  }
}

TEST(Components, FindsParametersWithKernelsTimed) {
  const True truth = by_work();
  const Measured measured = measure(truth, {seven_sizes, {1, 2, 4}, 4, true, true}, 5);
  const Mixture mixture = fit_components(measured, {{truth.model, 0, {}}}, 1);
  EXPECT_LT(worst_parameter(mixture, truth), 3.5);
}

TEST(Components, ForecastsWhatItWasMadeWith) {
  const True truth = by_blocks();
  const Measured measured = measure(truth, {seven_sizes, {1, 2, 3}, 4, true, false}, 2);
  const Mixture mixture = fit_components(measured, {{truth.model, 0, {}}}, 1);
  const VectorXd n{{3e3, 20e3, 100e3, 128e3, 256e3}};
  const VectorXd gpus{{2, 3, 1, 4, 4}};
  const AveragedForecast forecast = forecast_of(mixture, n, gpus);
  for (Index i = 0; i < n.size(); ++i) {
    const auto time = truth.model.step_seconds(truth.values.data(), n[i], gpus[i]);
    EXPECT_LT(ratio_off(forecast.seconds[i], time.total()), .08);
    EXPECT_LT(forecast.mean_low[i], time.total() * 1.02);
    EXPECT_GT(forecast.mean_high[i], time.total() * .98);
    EXPECT_NEAR(forecast.parts.row(i).sum(), forecast.seconds[i], 1e-12);
  }
}

// GPUs that compute one after another are distinguished from GPUs that compute at once.
TEST(Components, WeighsTheRightFormWhereDataTell) {
  const auto at_once = model_of(model::Work{}, model::Linear{}, model::StarAsyncQueue{});
  const auto turns = model_of(model::Work{}, model::Linear{}, model::StarAsyncTurns{});
  const Plan plan{{8e3, 16e3, 32e3, 64e3}, {1, 2, 3}, 3, true, false};
  const True by_turns{turns, by_work().values};
  const True together{at_once,
                      {7e-6, 8e-13, 2e-10, 9e-9, 3e-6, 4e10, 6e-6, 8e-6, 2e10, 7e-6, 1.8e10}};
  for (const True& truth : {by_turns, together}) {
    const Mixture mixture =
        fit_components(measure(truth, plan, 4), {{at_once, 0, {}}, {turns, 0, {}}}, 1);
    EXPECT_EQ(describe(mixture.components()[0].form.model), describe(truth.model));
    EXPECT_GT(mixture.components()[0].weight, .99);
  }
}

std::vector<Candidate> several_forms() {
  std::vector<Candidate> all;
  for (const model::GpuTerm& gpu :
       {model::GpuTerm(model::Occupancy{}), model::GpuTerm(model::Work{})}) {
    for (const model::CpuTerm& cpu :
         {model::CpuTerm(model::Bent{}), model::CpuTerm(model::Linear{})}) {
      for (const model::ComTerm& com :
           {model::ComTerm(model::StarSerial{}), model::ComTerm(model::StarSerialHide{})}) {
        all.push_back({model_of(gpu, cpu, com), 0, {}});
      }
    }
  }
  return all;
}

TEST(Components, AnswersTheSameOnOneThreadAndOnTwo) {
  const Measured measured = measure(by_work(), {{4e3, 16e3, 64e3}, {1, 2, 3}, 2, true, true}, 6);
  const Mixture one = fit_components(measured, several_forms(), 1);
  const Mixture two = fit_components(measured, several_forms(), 2);
  ASSERT_EQ(one.components().size(), two.components().size());
  const VectorXd n = VectorXd::LinSpaced(150, 1e3, 1e6);
  const VectorXd gpus = VectorXd::Constant(150, 4);
  const AveragedForecast a = forecast_of(one, n, gpus, 1);
  const AveragedForecast b = forecast_of(two, n, gpus, 2);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.mean_high, b.mean_high);
  EXPECT_EQ(one.fit_of(0).left_out(), two.fit_of(0).left_out());
}

TEST(Components, WeightsSumToOneAndFall) {
  const Measured measured = measure(by_work(), {{4e3, 16e3}, {1, 2}, 2, true, false}, 8);
  const Mixture mixture = fit_components(measured, several_forms(), 2);
  double sum = 0;
  double last = 1;
  for (const Component& component : mixture.components()) {
    EXPECT_LE(component.weight, last);
    sum += last = component.weight;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Components, AVisitThreeTimesAsLongMovesForecastsLittle) {
  const True truth = by_work();
  const Plan plan{seven_sizes, {1, 2, 3}, 4, true, false};
  const Measured clean = measure(truth, plan, 9);
  Measured disturbed = clean;
  disturbed.visits[45].step += std::log(3.0);
  const VectorXd n{{16e3, 64e3, 128e3, 256e3}};
  const VectorXd gpus{{3, 2, 4, 4}};
  const Candidate candidate{truth.model, 0, {}};
  const Mixture with = fit_components(disturbed, {candidate}, 1);
  const AveragedForecast a = forecast_of(fit_components(clean, {candidate}, 1), n, gpus);
  const AveragedForecast b = forecast_of(with, n, gpus);
  EXPECT_LT((b.seconds.array() / a.seconds.array() - 1).abs().maxCoeff(), .02);
  EXPECT_GT(with.components()[0].point.disturbed.step[45], .1);
}

TEST(Components, OneVisitOfOneCellForecastsWidely) {
  const True truth = by_work();
  for (const bool phases : {false, true}) {
    const Measured one = measure(truth, {{32e3}, {1}, 1, phases, phases}, 1);
    const Mixture mixture = fit_components(one, several_forms(), 1);
    const AveragedForecast forecast = forecast_of(mixture, VectorXd{{32e3, 1e6}}, VectorXd{{1, 8}});
    EXPECT_TRUE(forecast.seconds.allFinite());
    EXPECT_LT(ratio_off(forecast.seconds[0], std::exp(one.visits[0].step)), .1);
    EXPECT_GT(forecast.high[1] / forecast.low[1], 2);
  }
}

TEST(Components, CellsWithoutPhasesAndTwoCellsAreEnough) {
  const True truth = by_blocks();
  for (const auto& gpus : {std::vector<double>{1}, std::vector<double>{1, 2}}) {
    const Measured few = measure(truth, {{8e3, 64e3}, gpus, 2, false, false}, 1);
    const Mixture mixture = fit_components(few, {{truth.model, 0, {}}}, 1);
    const AveragedForecast forecast =
        forecast_of(mixture, VectorXd{{8e3, 64e3, 1e6}}, VectorXd{{1, 1, 4}});
    EXPECT_TRUE(forecast.high.allFinite());
    EXPECT_TRUE((forecast.low.array() < forecast.seconds.array()).all());
    EXPECT_TRUE((forecast.seconds.array() < forecast.high.array()).all());
    EXPECT_TRUE(mixture.fit_of(0).left_out().allFinite());
  }
}

// If every prior is scaled, too, time has no unit.
TEST(Components, TimesAThousandTimesAsLongAreForecastSo) {
  const True truth = by_work();
  Measured measured = measure(truth, {{4e3, 16e3, 64e3}, {1, 2, 3}, 2, true, false}, 3);
  Candidate candidate{truth.model, 0, {}};
  for (const auto& parameter : truth.model.parameter_list()) {
    if (parameter.prior.median > 0) {
      candidate.known.push_back(
          {parameter.name, {std::log(parameter.prior.median), parameter.prior.log_sd}});
    }
  }
  const VectorXd n{{16e3, 256e3}};
  const VectorXd gpus{{2, 8}};
  const AveragedForecast before = forecast_of(fit_components(measured, {candidate}, 1), n, gpus);
  const double by = std::log(1000.0);
  for (Visit& visit : measured.visits) {
    visit.step += by;
    visit.cpu += by;
  }
  for (auto& [name, prior] : candidate.known)
    prior.log_median += name.starts_with("B_") ? -by : by;
  const AveragedForecast after = forecast_of(fit_components(measured, {candidate}, 1), n, gpus);
  EXPECT_LT((after.seconds.array() / before.seconds.array() / 1000 - 1).abs().maxCoeff(), 1e-6);
  EXPECT_LT((after.high.array() / before.high.array() / 1000 - 1).abs().maxCoeff(), 1e-6);
}

TEST(Components, VisitsThatRepeatExactlyAreFitted) {
  True truth = by_work();
  truth.scatter = {0, 0, 0};
  Measured measured = measure(truth, {seven_sizes, {1, 2}, 3, false, false}, 1);
  for (Visit& visit : measured.visits)
    visit.step_variance = 0;
  const Mixture mixture = fit_components(measured, {{truth.model, 0, {}}}, 1);
  const AveragedForecast forecast = forecast_of(mixture, VectorXd{{16e3}}, VectorXd{{2}});
  const auto time = truth.model.step_seconds(truth.values.data(), 16e3, 2);
  EXPECT_LT(ratio_off(forecast.seconds[0], time.total()), .005);
}

TEST(Components, HugeSizesAndCountsAreForecast) {
  const True truth = by_blocks();
  const Measured measured = measure(truth, {{8e3, 64e3}, {1, 2}, 2, true, false}, 1);
  const Mixture mixture = fit_components(measured, {{truth.model, 0, {}}}, 1);
  const AveragedForecast forecast =
      forecast_of(mixture, VectorXd{{1, 1e18, 1e18, 1}}, VectorXd{{1, 1, 1e6, 1e6}});
  EXPECT_TRUE(forecast.seconds.allFinite());
  EXPECT_TRUE(forecast.high.allFinite());
  EXPECT_TRUE((forecast.low.array() > 0).all());
}

TEST(Components, NothingToFitIsRefused) {
  const True truth = by_work();
  Measured measured = measure(truth, {{8e3, 64e3}, {1}, 1, false, false}, 1);
  EXPECT_THROW(fit_components(measured, {}, 1), std::invalid_argument);
  EXPECT_THROW(Mixture(measured, {}), std::invalid_argument);
  measured.visits.pop_back();
  EXPECT_THROW(fit_components(measured, {{truth.model, 0, {}}}, 1), std::invalid_argument);
}

TEST(Components, TimesOfNothingAreRefused) {
  const True truth = by_work();
  const Measured good = measure(truth, {{8e3, 64e3}, {1}, 2, true, true}, 1);
  const double log_zero = -std::numeric_limits<double>::infinity();
  const auto refused = [&](const auto& spoil) {
    Measured bad = good;
    spoil(bad);
    EXPECT_THROW(fit_components(bad, {{truth.model, 0, {}}}, 1), std::invalid_argument);
  };
  refused([&](Measured& data) { data.kernel[1] = log_zero; });
  refused([&](Measured& data) { data.visits[2].cpu = log_zero; });
  refused([&](Measured& data) { data.visits[0].step = log_zero; });
  refused([&](Measured& data) { data.visits[0].step_variance = -1e-4; });
  refused([&](Measured& data) { data.visits[0].cell = 2; });
  const auto idle_host = model_of(model::Work{}, model::None{}, model::Allgather{});
  EXPECT_THROW(fit_components(good, {{idle_host, 0, {}}}, 1), std::invalid_argument);
}

TEST(Components, StepsWithoutHostWorkAreFitted) {
  const True truth{model_of(model::Work{}, model::None{}, model::Allgather{}),
                   {7e-6, 8e-13, 2e-10, 3e-6, 1e-5, 1e11}};
  const Measured measured = measure(truth, {seven_sizes, {1, 2, 4}, 3, false, false}, 1);
  const Mixture mixture = fit_components(measured, {{truth.model, 0, {}}}, 1);
  EXPECT_LT(worst_parameter(mixture, truth), 3.5);
}

// A candidate without a finite time anywhere: its host needs e^10000 s a particle.
TEST(Components, AFormThatCannotBeFittedLeavesTheOthers) {
  const True truth = by_work();
  const Measured measured = measure(truth, {{8e3, 64e3}, {1, 2}, 2, true, false}, 1);
  const Candidate broken{truth.model, 0, {{"t_cpu", {1e4, 1e-3}}}};
  const Candidate fine{model_of(model::Occupancy{}, model::Bent{}, model::StarSerial{}), 0, {}};
  const Mixture mixture = fit_components(measured, {broken, fine}, 1);
  ASSERT_EQ(mixture.components().size(), 1U);
  EXPECT_EQ(describe(mixture.components()[0].form.model), "occupancy+star-serial");
  EXPECT_THROW(fit_components(measured, {broken}, 1), std::invalid_argument);
}

}  // namespace
}  // namespace gpucast::fit::components
