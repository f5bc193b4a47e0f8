// gpucast._core: forecasts of programs whose parts of steps are known.
#include "bindings.h"

#include <nanobind/eigen/dense.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>

#include "gpucast/fit/components/component_mixture.h"
#include "gpucast/model/step_model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace components = gpucast::fit::components;
using components::Measured;
using components::Visit;
using ComponentMixture = components::Mixture;
using Vector = Eigen::VectorXd;
using gpucast::model::StepModel;

void require_alike(Eigen::Index count, std::initializer_list<Eigen::Index> sizes) {
  for (const Eigen::Index size : sizes)
    if (size != count) throw std::invalid_argument("arrays differ in length");
}

// Visits as columns: cell, seconds of the step, variance of its logarithm, the same of the host's
// part (NaN: not timed).
using VisitColumns = Eigen::Matrix<double, Eigen::Dynamic, 5, Eigen::RowMajor>;

Measured measured(const Vector& n, const Vector& gpus, const Vector& kernel,
                  const Vector& kernel_variance, const VisitColumns& visits) {
  require_alike(n.size(), {gpus.size(), kernel.size(), kernel_variance.size()});
  if (!(n.array() > 0).all() || !(gpus.array() > 0).all())
    throw std::invalid_argument("sizes and GPU counts are above 0");
  Measured result{n, gpus, kernel.array().log(), kernel_variance, {}};
  result.visits.reserve(static_cast<std::size_t>(visits.rows()));
  for (Eigen::Index v = 0; v < visits.rows(); ++v) {
    const auto cell = static_cast<Eigen::Index>(visits(v, 0));
    if (cell < 0 || cell >= n.size()) throw std::invalid_argument("a visit's cell is not there");
    if (!(visits(v, 1) > 0) || !std::isfinite(visits(v, 1)))
      throw std::invalid_argument("times are above 0");
    const bool has_cpu = !std::isnan(visits(v, 3));
    result.visits.push_back({cell, std::log(visits(v, 1)), visits(v, 2), has_cpu,
                             has_cpu ? std::log(visits(v, 3)) : 0.0, has_cpu ? visits(v, 4) : 0.0});
  }
  return result;
}

// Model, weight, z, its prior's medians and standard deviations, log amplitudes, variances added to
// disturbed visits (of step, of cpu) and cells (of kernels).
using ComponentState =
    std::tuple<StepModel, double, Vector, Vector, Vector, Vector, Vector, Vector, Vector>;

components::Component component(const ComponentState& from, const Measured& measurements) {
  const auto& [model, weight, z, median, sd, amplitudes, step, cpu, kernel] = from;
  require_alike(static_cast<Eigen::Index>(measurements.visits.size()), {step.size(), cpu.size()});
  require_alike(measurements.size(), {kernel.size()});
  require_alike(static_cast<Eigen::Index>(components::amplitude_count), {amplitudes.size()});
  components::Disturbed disturbed(measurements);
  disturbed.step = step;
  disturbed.cpu = cpu;
  disturbed.kernel = kernel;
  return {{model, median, sd}, {z, amplitudes, std::move(disturbed)}, weight};
}

ComponentState state_of(const components::Component& fitted) {
  return {fitted.form.model,
          fitted.weight,
          fitted.point.z,
          fitted.form.median,
          fitted.form.sd,
          fitted.point.amplitudes,
          fitted.point.disturbed.step,
          fitted.point.disturbed.cpu,
          fitted.point.disturbed.kernel};
}

}  // namespace

void bind_components(nb::module_& m) {
  nb::class_<ComponentMixture>(
      m, "Components",
      "Forecasts of a program whose steps' parts are known: a mixture over forms, with processes "
      "about their parts (fit/include/gpucast/fit/components).")
      .def(
          "__init__",
          [](ComponentMixture* self, const Vector& n, const Vector& gpus, const Vector& kernel,
             const Vector& kernel_variance, const VisitColumns& visits,
             const std::vector<ComponentState>& states) {
            Measured measurements = measured(n, gpus, kernel, kernel_variance, visits);
            std::vector<components::Component> list;
            list.reserve(states.size());
            for (const ComponentState& state : states)
              list.push_back(component(state, measurements));
            new (self) ComponentMixture(std::move(measurements), std::move(list));
          },
          "n"_a, "gpus"_a, "kernel"_a, "kernel_variance"_a, "visits"_a, "components"_a)
      .def_prop_ro(
          "components",
          [](const ComponentMixture& self) {
            std::vector<ComponentState> list;
            for (const auto& fitted : self.components())
              list.push_back(state_of(fitted));
            return list;
          },
          "(model, weight, z, its prior's medians and standard deviations, log amplitudes, "
          "variances added to visits' steps and host times and to cells' kernels) of each "
          "component.")
      .def(
          "left_out",
          [](const ComponentMixture& self, std::size_t at) { return self.fit_of(at).left_out(); },
          "component"_a,
          "ln T of each measured cell minus its prediction by a component from all other cells.")
      .def(
          "log_evidence",
          [](const ComponentMixture& self, std::size_t at) {
            return self.fit_of(at).log_evidence();
          },
          "component"_a,
          "Logarithm of the density of the measured times by a component, its parameters "
          "integrated "
          "over.")
      .def(
          "errors",
          [](const ComponentMixture& self, std::size_t at) { return self.fit_of(at).errors(); },
          "component"_a, "Standard deviations of a component's z.")
      .def(
          "forecast",
          [](const ComponentMixture& self, const Vector& n, const Vector& gpus,
             const Vector& visits, const Vector& variance, const Vector& common, unsigned threads) {
            require_alike(n.size(), {gpus.size(), visits.size(), variance.size(), common.size()});
            nb::gil_scoped_release release;
            return self.forecast({n, gpus, visits, variance, common}, threads).columns();
          },
          "n"_a, "gpus"_a, "visits"_a, "variance"_a, "common"_a, "threads"_a = 0U,
          "(seconds, low, high, mean_low, mean_high, spread of log T, parts): medians, 90 % "
          "intervals of the mean of `visits` visits (`variance` added) and of the expected time "
          "(`common` added to both), and T_gpu, T_cpu, T_com in columns.")
      .def(
          "computing",
          [](const ComponentMixture& self, const Vector& n, const Vector& gpus) {
            require_alike(n.size(), {gpus.size()});
            nb::gil_scoped_release release;
            auto times = self.computing(n, gpus);
            return std::pair(std::move(times.mean), std::move(times.variance));
          },
          "n"_a, "gpus"_a,
          "Means and variances of ln T_gpu and ln T_cpu, in columns, without communication.")
      .def(
          "draws",
          [](const ComponentMixture& self, const Vector& n, const Vector& gpus, Eigen::Index count,
             std::uint64_t seed) {
            require_alike(n.size(), {gpus.size()});
            nb::gil_scoped_release release;
            return Eigen::MatrixXd(self.draws(n, gpus, count, seed).array().exp());
          },
          "n"_a, "gpus"_a, "count"_a, "seed"_a,
          "Joint draws of the expected times of all cells, s; a row per draw.");
  m.def(
      "fit_components",
      [](const Vector& n, const Vector& gpus, const Vector& kernel, const Vector& kernel_variance,
         const VisitColumns& visits,
         const std::vector<std::tuple<StepModel, double,
                                      std::map<std::string, std::pair<double, double>>>>& tried,
         unsigned threads) {
        const Measured measurements = measured(n, gpus, kernel, kernel_variance, visits);
        std::vector<components::Candidate> candidates;
        candidates.reserve(tried.size());
        for (const auto& [model, log_odds, known] : tried) {
          components::Candidate& candidate =
              candidates.emplace_back(components::Candidate{model, log_odds, {}});
          for (const auto& [name, prior] : known)
            candidate.known.push_back({name, {std::log(prior.first), prior.second}});
        }
        nb::gil_scoped_release release;
        return components::fit_components(measurements, candidates, threads);
      },
      "n"_a, "gpus"_a, "kernel"_a, "kernel_variance"_a, "visits"_a, "candidates"_a,
      "threads"_a = 0U,
      "The mixture for measured visits. Cells: n, GPU count, seconds of the kernel (NaN: "
      "not timed) and the variance of its logarithm. Visits, a row each: cell, seconds of the "
      "step, "
      "variance of its logarithm, the same of the host's part. Candidates: (model, log odds, "
      "priors "
      "of parameters by name as (median, standard deviation of the logarithm)).");
  nb::list names;
  for (const auto& amplitude : components::about_amplitudes)
    names.append(nb::str(amplitude.name.data(), amplitude.name.size()));
  m.attr("AMPLITUDES") = names;
}
