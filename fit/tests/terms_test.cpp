// Data of schedules that poll, hide and queue, written out again as an oracle: `Truth` does not
// call model/.
#include <gtest/gtest.h>

#include "gpucast/fit/evaluate.h"
#include "gpucast/fit/structure.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::Noisy;
using synthetic::parameter;
using synthetic::Samples;

constexpr double tick = 8.192e-6;
constexpr double lead = 2.5e-6;
constexpr model::Machine machine{.cores = 1280, .sms = 10, .block = 256};

// The mean time of the ticks at which work of about `work` is seen to have ended.
double seen(double work) {
  if (work <= 0) return 0;
  const double sigma = std::hypot(0.4e-6, 0.004 * work);
  double sum = 0;
  for (int m = 0; m * tick < work + 8 * sigma; ++m)
    sum += tick * std::erfc((m * tick - work) / sigma / std::numbers::sqrt2) / 2;
  return sum;
}

// Common to all schedules here. Seconds, bytes/second.
struct Link {
  double t_kernel = 4e-6;
  double L = 6e-6;
  double B = 2e10;

  double operator()(double bytes) const { return L + bytes / B; }
};

constexpr Link to_gpu{};
constexpr Link from_gpu{.L = 8e-6, .B = 1.5e10};
constexpr Link between{.L = 1e-5, .B = 1e11};
constexpr double t_kernel = 4e-6;

double blocks(double n, double gpus) {
  return std::ceil(std::ceil(std::ceil(n / gpus) / 256) / 10);
}

double gpu_of_work(double n, double gpus) {
  const double pairs = std::ceil(n / gpus) * n;
  return 6e-6 + 10e-12 * pairs + 20e-9 * std::sqrt(pairs);
}

double one_after_another(double n, double gpus) {
  constexpr double s_next = 0.6;
  const double copies = to_gpu(16 * n) + from_gpu(12 * n / gpus);
  const double gpu = gpu_of_work(n, gpus);
  return 4e-9 * n + (1 + (gpus - 1) * s_next) * copies + gpus * t_kernel +
         seen(gpu - (gpus - 1) * t_kernel - lead);
}

double all_at_once(double n, double gpus) {
  constexpr double t_queue = 5e-6;
  constexpr double B_host = 4e10;
  return 4e-9 * n + to_gpu(16 * n) + from_gpu(12 * n / gpus) +
         (gpus - 1) * (16 * n + 12 * n / gpus) / B_host + gpus * (t_kernel + t_queue) +
         seen(gpu_of_work(n, gpus) - lead);
}

double queued_ahead(double n, double gpus) {
  constexpr double t_queue = 12e-6;
  const double gpu = 5e-6 + 10e-12 * std::ceil(n / gpus) * n;
  const double device = gpu + (gpus > 1 ? between((gpus - 1) * 16 * n / gpus) : 0);
  const double host = gpus > 1 ? gpus * (t_kernel + t_queue) : t_kernel;
  const double worse = std::max(device, host);
  return 4e-9 * n + worse * std::pow(1 + std::pow(std::min(device, host) / worse, 8.0), 1.0 / 8);
}

constexpr double sizes[] = {500,  700,  1000,  1400,  2000,  2800, 4000,
                            5600, 8000, 11000, 16000, 22000, 32000};
constexpr double one_and_two[] = {1, 2};

void add_transfers(Samples& samples, Noisy& noisy, model::Route route, const Link& link) {
  for (const double bytes : synthetic::transfer_sizes)
    for (int repetition = 0; repetition < 5; ++repetition)
      samples.add(synthetic::transfer(route, bytes), noisy(link(bytes)));
}

void add_launches(Samples& samples, Noisy& noisy) {
  for (const double count : {1.0, 10.0, 100.0})
    for (int repetition = 0; repetition < 5; ++repetition)
      samples.add(synthetic::launch(count), noisy(count * t_kernel));
}

Cell host_part(double n) { return {.kind = Kind::cpu, .n = n}; }

Cell kernel_part(double n, double gpus) { return {.kind = Kind::kernel, .n = n, .gpus = gpus}; }

model::StepModel model_of(const model::GpuTerm& gpu, const model::CpuTerm& cpu,
                          const model::ComTerm& com) {
  return {model::StepTerms{gpu, cpu, com}, machine, 1, {}};
}

// Errors of forecasts for 3 and 4 GPUs, which were not measured; sizes lie between the measured
// ones.
struct Errors {
  double median = 0;
  double largest = 0;
};

Errors errors_beyond(const Fit& fitted, const synthetic::StepSeconds& truth) {
  const Eigen::VectorXd values = fitted.values();
  std::vector<double> error;
  for (int i = 0; i < 26; ++i) {
    const double size = std::round(600 * std::pow(1.17, i));  // to 30000
    for (const double gpus : {3.0, 4.0}) {
      const double seconds = fitted.model.step_seconds(values.data(), size, gpus).total();
      error.push_back(std::abs(seconds / truth(size, gpus) - 1));
    }
  }
  std::ranges::sort(error);
  return {error[error.size() / 2], error.back()};
}

// Steps of a star with their parts, transfers and launches.
Samples samples_of_star(const synthetic::StepSeconds& seconds, std::uint64_t seed) {
  Noisy noisy(seed, 0.02);
  Samples samples;
  synthetic::add_steps(samples, seconds, noisy, 5, sizes, one_and_two);
  for (const double n : sizes) {
    for (int repetition = 0; repetition < 5; ++repetition) {
      samples.add(host_part(n), noisy(4e-9 * n));
      for (const double gpus : one_and_two)
        samples.add(kernel_part(n, gpus), noisy(gpu_of_work(n, gpus)));
    }
  }
  add_transfers(samples, noisy, model::Route::h2d, to_gpu);
  add_transfers(samples, noisy, model::Route::d2h, from_gpu);
  add_launches(samples, noisy);
  return samples;
}

model::StepModel serial_model() {
  return model_of(model::Work{}, model::Linear{}, model::StarSerialPoll{});
}

struct Expected {
  const char* parameter;
  double value, tolerance;
};

// Parameters and forecasts from three data sets have to agree with the truth.
template <class SamplesOf>
void expect_recovery(const model::StepModel& model, const SamplesOf& samples_of,
                     const synthetic::StepSeconds& truth, const std::vector<Expected>& parameters,
                     const Errors& allowed) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Fit fitted = fit(model, samples_of(seed).observations(), {1});
    EXPECT_TRUE(fitted.estimate().converged);
    for (const auto& [name, value, tolerance] : parameters)
      EXPECT_NEAR(parameter(fitted, name) / value, 1, tolerance) << name << ", " << seed;
    const Errors beyond = errors_beyond(fitted, truth);
    EXPECT_LT(beyond.median, allowed.median) << seed;
    EXPECT_LT(beyond.largest, allowed.largest) << seed;
  }
}

TEST(Recovery, OfAStarThatPollsFromOneAndTwoGpus) {
  expect_recovery(serial_model(),
                  [](std::uint64_t seed) { return samples_of_star(one_after_another, seed); },
                  one_after_another,
                  {{"s_next", 0.6, 0.1},
                   {"t_kernel", 4e-6, 0.03},
                   {"t_cpu", 4e-9, 0.02},
                   {"t_pair", 10e-12, 0.02}},
                  {.median = 0.01, .largest = 0.04});
}

TEST(Recovery, OfAStarOfQueuesFromOneAndTwoGpus) {
  expect_recovery(model_of(model::Work{}, model::Linear{}, model::StarAsyncPoll{}),
                  [](std::uint64_t seed) { return samples_of_star(all_at_once, seed); },
                  all_at_once, {{"t_queue", 5e-6, 0.15}, {"t_pair", 10e-12, 0.05}},
                  {.median = 0.015, .largest = 0.05});
}

TEST(Recovery, OfAnAllgatherThatIsQueuedAheadFromOneAndTwoGpus) {
  const auto samples_of = [](std::uint64_t seed) {
    Noisy noisy(seed, 0.02);
    Samples samples;
    synthetic::add_steps(samples, queued_ahead, noisy, 5, sizes, one_and_two);
    for (const double n : sizes)
      samples.add(host_part(n), noisy(4e-9 * n));
    add_transfers(samples, noisy, model::Route::peer, between);
    add_launches(samples, noisy);
    return samples;
  };
  expect_recovery(model_of(model::Work{}, model::Linear{}, model::AllgatherQueue{}), samples_of,
                  queued_ahead, {{"t_queue", 12e-6, 0.05}, {"t_pair", 10e-12, 0.02}},
                  {.median = 0.015, .largest = 0.04});
}

// The host's part in the form of `bent`: 4 ns per particle, and twice that beyond a cache of 8000.
double cpu_of_a_cache(double n) { return 2e-6 + 4e-9 * n * (1 + n / (n + 8000)); }

// One block on the busiest multiprocessor is latency-bound, ten are not.
double gpu_by_norm(double n, double gpus, double p) {
  return 6e-6 + n * std::pow(std::pow(12e-9, p) + std::pow(blocks(n, gpus) * 4e-9, p), 1 / p);
}

TEST(Recovery, OfTheExponentOfOccupancyWhereverItLies) {
  for (const double p : {1.7, 2.3, 3.1, 5.0}) {
    const auto whole = [p](double n, double gpus) {
      return gpu_by_norm(n, gpus, p) + cpu_of_a_cache(n) + gpus * t_kernel + (gpus > 1 ? 1e-5 : 0) +
             (gpus - 1) * 16 * n / gpus / 1e11;
    };
    Noisy noisy(7, 0.005);
    Samples samples;
    synthetic::add_steps(samples, whole, noisy, 9, sizes, one_and_two);
    for (const double n : sizes)
      for (int repetition = 0; repetition < 9; ++repetition)
        samples.add(host_part(n), noisy(cpu_of_a_cache(n)));
    add_launches(samples, noisy);
    const Fit fitted = fit(model_of(model::Occupancy{}, model::Bent{}, model::AllgatherOnce{}),
                           samples.observations(), {1});
    EXPECT_TRUE(fitted.estimate().converged) << p;
    EXPECT_NEAR(parameter(fitted, "p") / p, 1, 0.15) << p;
    const Errors beyond = errors_beyond(fitted, whole);
    EXPECT_LT(beyond.median, 0.01) << p;
    EXPECT_LT(beyond.largest, 0.04) << p;
  }
}

TEST(StartValues, LeaveANumberAtItsPriorsMedianAndAreWithinAFactorOfTwoOfTheData) {
  const model::StepModel model = serial_model();
  const Observations observations = samples_of_star(one_after_another, 1).observations();
  const Eigen::VectorXd start = start_values(model, observations);
  const auto& list = model.parameter_list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_ratio()) {
      EXPECT_EQ(start[static_cast<Eigen::Index>(i)], std::log(list[i].prior.median))
          << list[i].name;
    }
  }
  const Estimate at_start = start_estimate(model, observations);
  for (std::size_t j = 0; j < observations.cell_count(); ++j) {
    EXPECT_NEAR(at_start.log_fit[static_cast<Eigen::Index>(j)], observations.median_log(j),
                std::log(2.0))
        << "cell " << j;
  }
}

TEST(StartValues, LeadTheFitWhereTheTruthDoes) {
  // No better fit is found when the start is the truth itself.
  const model::StepModel model = serial_model();
  const Observations observations = samples_of_star(one_after_another, 2).observations();
  const Estimate ours = estimate(model, observations, start_values(model, observations));
  Eigen::VectorXd truth(static_cast<Eigen::Index>(model.parameter_count()));
  for (Eigen::Index i = 0; i < truth.size(); ++i) {
    const std::string& name = model.parameter_list()[static_cast<std::size_t>(i)].name;
    truth[i] = name == "t_0"        ? 6e-6
               : name == "t_pair"   ? 10e-12
               : name == "t_root"   ? 20e-9
               : name == "t_cpu"    ? 4e-9
               : name == "s_next"   ? 0.6
               : name == "t_kernel" ? t_kernel
               : name == "L_h2d"    ? to_gpu.L
               : name == "B_h2d"    ? to_gpu.B
               : name == "L_d2h"    ? from_gpu.L
                                    : from_gpu.B;
  }
  const Estimate theirs =
      estimate(model, observations, synthetic::log_from_values(model, truth), ours.sigma);
  EXPECT_TRUE(ours.converged);
  EXPECT_LT(ours.cost, theirs.cost + 1e-3);
}

TEST(KernelObservations, HaveNoiseOfTheirOwn) {
  Noisy steps(3, 0.04);
  Noisy kernels(4, 0.01);
  Samples samples;
  synthetic::add_steps(samples, one_after_another, steps, 20, sizes, one_and_two);
  for (const double n : sizes)
    for (int repetition = 0; repetition < 20; ++repetition)
      samples.add(kernel_part(n, 1), kernels(gpu_of_work(n, 1)));
  const Fit fitted = fit(serial_model(), samples.observations(), {1});
  EXPECT_NEAR(fitted.estimate().sigma[group(kernel_part(1, 1))], 0.01, 0.002);
  EXPECT_NEAR(fitted.estimate().sigma[group(synthetic::step(1, 1))], 0.04, 0.006);
}

TEST(KernelObservations, TellTheGpusTimeFromWhatSurroundsIt) {
  // Steps of one GPU determine only the sum of a constant in T_gpu and the latencies. Kernel times
  // separate them.
  const model::StepModel model = model_of(model::Work{}, model::Linear{}, model::StarSerial{});
  const auto gpu = [](double n) { return 20e-6 + 10e-12 * n * n; };
  const auto whole = [&](double n, double) {
    return gpu(n) + 4e-9 * n + to_gpu(16 * n) + from_gpu(12 * n) + t_kernel;
  };
  Noisy noisy(5, 0.02);
  Samples samples;
  synthetic::add_steps(samples, whole, noisy, 5, sizes, synthetic::one_gpu);
  const Fit without = fit(model, samples.observations(), {1});
  EXPECT_FALSE(without.identification.identified[0]);
  for (const double n : sizes)
    for (int repetition = 0; repetition < 5; ++repetition)
      samples.add(kernel_part(n, 1), noisy(gpu(n)));
  const Fit with = fit(model, samples.observations(), {1});
  EXPECT_TRUE(with.identification.identified[0]);
  EXPECT_NEAR(parameter(with, "t_0") / 20e-6, 1, 0.03);
  EXPECT_NEAR(parameter(with, "t_pair") / 10e-12, 1, 0.02);
}

}  // namespace
}  // namespace gpucast::fit
