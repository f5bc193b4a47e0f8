#include "gpucast/model/step_model.h"

#include <gtest/gtest.h>

namespace gpucast::model {
namespace {

using Names = std::vector<std::string>;

Names names_of(const StepModel& model) {
  Names result;
  for (const auto& parameter : model.parameter_list())
    result.push_back(parameter.name);
  return result;
}

Names units_of(const StepModel& model) {
  Names result;
  for (const auto& parameter : model.parameter_list())
    result.push_back(parameter.unit);
  return result;
}

StepModel paper(int k) {
  return {StepTerms{Wave{}, Linear{}, StarSerial{}}, {.cores = 2304}, k, {}};
}

TEST(StepModel, OfThePaperHasItsSevenParametersInOrder) {
  EXPECT_EQ(names_of(paper(4)),
            (Names{"t_gpu", "t_cpu", "t_kernel", "L_h2d", "B_h2d", "L_d2h", "B_d2h"}));
  EXPECT_EQ(units_of(paper(4)), (Names{"s", "s", "s", "s", "B/s", "s", "B/s"}));
}

TEST(StepModel, PutsTheTermsOwnParametersBeforeTheCurves) {
  const StepModel model(StepTerms{Occupancy{}, Affine{}, StarAsync{}}, {}, 4, {});
  EXPECT_EQ(names_of(model), (Names{"t_0", "t_lat", "t_blk", "p", "t_cpu", "t_cpu_0", "t_kernel",
                                    "B_host", "L_h2d", "B_h2d", "L_d2h", "B_d2h"}));
}

TEST(StepModel, GivesEachScheduleTheRoutesItNeeds) {
  const StepModel allgather(StepTerms{Work{}, Linear{}, Allgather{}}, {}, 1, {});
  EXPECT_EQ(names_of(allgather),
            (Names{"t_0", "t_pair", "t_root", "t_cpu", "t_kernel", "L_peer", "B_peer"}));
  const StepModel mpi(StepTerms{Work{}, Linear{}, Mpi{}}, {}, 1, {});
  EXPECT_EQ(names_of(mpi), (Names{"t_0", "t_pair", "t_root", "t_cpu", "t_kernel", "L_h2d", "B_h2d",
                                  "L_d2h", "B_d2h", "L_net", "B_net"}));
}

TEST(StepModel, KeepsACurveItIsGivenAndAddsRoutesBeyondTheSchedule) {
  TransferCurves curves;
  curves[static_cast<std::size_t>(Route::d2h)] = TransferCurve{{4096}};
  curves[static_cast<std::size_t>(Route::peer)] = TransferCurve{};
  const StepModel model(StepTerms{}, {.cores = 100}, 1, curves);
  EXPECT_EQ(names_of(model), (Names{"t_gpu", "t_cpu", "t_kernel", "L_h2d", "B_h2d", "L_d2h",
                                    "B_d2h_1", "B_d2h", "L_peer", "B_peer"}));
  const double value[] = {1e-10, 1e-8, 1e-6, 1e-5, 1e9, 2e-5, 1e9, 2e9, 3e-5, 4e9};
  EXPECT_DOUBLE_EQ(model.transfer_seconds(value, Route::h2d, 1e6), 1e-5 + 1e-3);
  EXPECT_DOUBLE_EQ(model.transfer_seconds(value, Route::d2h, 8192), 2e-5 + 4.096e-6 + 2.048e-6);
  EXPECT_DOUBLE_EQ(model.transfer_seconds(value, Route::peer, 4e6), 3e-5 + 1e-3);
}

TEST(StepModel, OfTransfersAloneHasNothingElse) {
  TransferCurves curves;
  curves[static_cast<std::size_t>(Route::staged)] = TransferCurve{};
  const StepModel model(std::nullopt, {}, 1, curves);
  EXPECT_EQ(names_of(model), (Names{"L_staged", "B_staged"}));
  EXPECT_FALSE(model.terms().has_value());
  EXPECT_TRUE(model.has_curve(Route::staged));
  EXPECT_FALSE(model.has_curve(Route::h2d));
}

TEST(StepModel, StepIsEquationsOneTwoAndThreeByHand) {
  const double value[] = {2.5e-11, 4e-8, 8e-6, 1.2e-5, 5.5e9, 1.1e-5, 5.0e9};
  const auto time = paper(4).step_seconds(value, 64000, 4);
  EXPECT_NEAR(time.gpu, 29.4912e-3, 1e-15);
  EXPECT_NEAR(time.cpu, 2.56e-3, 1e-15);
  // 16 * 64000 * 4 / 5.5e9 + 4 * 12 us + 12 * 64000 / 5e9 + 4 * 11 us + 4 * 8 us
  EXPECT_NEAR(time.com, 744.7272727272727e-6 + 48e-6 + 153.6e-6 + 44e-6 + 32e-6, 1e-15);
  EXPECT_DOUBLE_EQ(time.total(), time.gpu + time.cpu + time.com);
}

TEST(StepModel, TimesItsPartsAlone) {
  const StepModel model(StepTerms{Work{}, Affine{}, Allgather{}}, {}, 1, {});
  const double value[] = {1e-5, 1e-10, 1e-8, 4e-8, 1e-4, 8e-6, 3e-6, 2e9};
  EXPECT_DOUBLE_EQ(model.cpu_seconds(value, 1000), 1.4e-4);
  EXPECT_DOUBLE_EQ(model.launch_seconds(value, 64), 64 * 8e-6);
}

TEST(StepModel, WithAnotherIntegerChangesNothingElse) {
  const double value[] = {2.5e-11, 4e-8, 8e-6, 1.2e-5, 5.5e9, 1.1e-5, 5.0e9};
  const StepModel two = paper(4).with_integer(2);
  EXPECT_EQ(two.integer(), 2);
  EXPECT_EQ(two.parameter_list(), paper(4).parameter_list());
  // 64000 / (2 * 2304 * 4) = 3.47: four waves of half the threads.
  EXPECT_NEAR(two.step_seconds(value, 64000, 4).gpu, 4 * 64000 * 4608 * 2.5e-11, 1e-15);
  EXPECT_DOUBLE_EQ(two.step_seconds(value, 64000, 4).com,
                   paper(4).step_seconds(value, 64000, 4).com);
}

TEST(StepModel, MadeLinearKeepsItsParametersAndAddsUp) {
  const StepModel model(StepTerms{Occupancy{}, Linear{}, StarSerialPoll{}},
                        {.sms = 10, .block = 256}, 4, {});
  const StepModel linear = model.linear();
  EXPECT_EQ(linear.parameter_list(), model.parameter_list());
  EXPECT_TRUE(linear.is_linear());
  EXPECT_FALSE(model.is_linear());
  // Times doubled are doubled, p and s_next being no times.
  const double value[] = {1e-5, 3e-9, 4e-9, 2.5, 4e-8, 3e-6, 1, 1e-5, 1e9, 2e-5, 5e8};
  const double twice[] = {2e-5, 6e-9, 8e-9, 2.5, 8e-8, 6e-6, 1, 2e-5, 5e8, 4e-5, 2.5e8};
  EXPECT_NEAR(linear.step_seconds(twice, 5000, 3).total(),
              2 * linear.step_seconds(value, 5000, 3).total(), 1e-16);
  // Nothing hidden, no tick: star-serial.
  EXPECT_NEAR(linear.step_seconds(value, 1000, 2).com, 122e-6, 1e-16);
}

StepModel with_communication(const ComTerm& com) {
  return {StepTerms{Work{}, Linear{}, com}, {}, 1, {}};
}

// Values for work + linear and a communication term: t_0 and t_cpu as given, interactions free.
std::vector<double> values_of(const StepModel& model, double t_0, double t_cpu) {
  std::vector<double> result;
  for (const Parameter& parameter : model.parameter_list()) {
    const std::string& name = parameter.name;
    result.push_back(name == "t_0"               ? t_0
                     : name == "t_pair"          ? 0
                     : name == "t_root"          ? 0
                     : name == "t_cpu"           ? t_cpu
                     : name == "t_kernel"        ? 3e-6
                     : name == "t_edge"          ? 5e-6
                     : name == "t_face"          ? 1e-9
                     : name == "t_queue"         ? 2e-6
                     : name == "s_next"          ? 0.5
                     : name == "B_host"          ? 4e9
                     : name.starts_with("L_d2h") ? 2e-5
                     : name.starts_with("L_")    ? 1e-5
                     : name.starts_with("B_d2h") ? 5e8
                                                 : 1e9);
  }
  return result;
}

TEST(Skeleton, IsABusyGpuAndTheCommunicationAroundItByHand) {
  // n = 1000, N = 2: 26 us up, 32 us down, the other GPU's 22000 bytes at 4 GB/s, two launches.
  const StepModel queued = with_communication(StarAsync{});
  EXPECT_NEAR(queued.skeleton_seconds(values_of(queued, 9, 9).data(), 1000, 2, 50e-6),
              (50 + 26 + 32 + 5.5 + 6) * 1e-6, 1e-17);
  const StepModel serial = with_communication(StarSerial{});
  EXPECT_NEAR(serial.skeleton_seconds(values_of(serial, 9, 9).data(), 1000, 2, 50e-6),
              (50 + 2 * (26 + 32) + 6) * 1e-6, 1e-17);
}

TEST(Skeleton, ByTurnsIsBusyOncePerGpu) {
  const StepModel turns = with_communication(StarAsyncTurns{});
  for (const double busy : {5e-6, 2e-3}) {
    EXPECT_NEAR(turns.skeleton_seconds(values_of(turns, 9, 9).data(), 1000, 2, busy),
                2 * (26e-6 + 32e-6 + 3e-6) + 2 * busy, 1e-17);
  }
}

TEST(Skeleton, IsAStepThatKeepsTheGpuBusyAndTheHostIdle) {
  for (const ComTerm& com : all_com_terms) {
    const StepModel model = with_communication(com);
    for (const double busy : {5e-6, 20e-6, 2e-3}) {
      for (const double gpus : {1.0, 2.0, 3.0, 8.0}) {
        const double step =
            model.step_seconds(values_of(model, busy, 0).data(), 5000, gpus).total();
        // The model's T_gpu and T_cpu do not matter.
        EXPECT_NEAR(model.skeleton_seconds(values_of(model, 9, 9).data(), 5000, gpus, busy) / step,
                    1, 1e-12)
            << name(com) << ", gpus " << gpus << ", busy " << busy;
      }
    }
  }
}

TEST(Parameter, OfNoUnitIsARatio) {
  EXPECT_TRUE((Parameter{"s_next", "", ""}.is_ratio()));
  EXPECT_FALSE((Parameter{"t_kernel", "s", ""}.is_ratio()));
}

TEST(Parameter, LinearCoordinateOfAThroughputIsATimePerByte) {
  const Parameter throughput{"B_h2d", "B/s", "", {}, true};
  const Parameter latency{"L_h2d", "s", "", {}, false};
  EXPECT_DOUBLE_EQ(linear_coordinate(throughput, 4e9), 0.25e-9);
  EXPECT_DOUBLE_EQ(linear_coordinate(throughput, linear_coordinate(throughput, 4e9)), 4e9);
  EXPECT_DOUBLE_EQ(linear_coordinate(latency, 1e-5), 1e-5);
}

}  // namespace
}  // namespace gpucast::model
