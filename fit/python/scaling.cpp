// gpucast._core: forecasts of programs that are known only by their step times.
#include "bindings.h"

#include <nanobind/eigen/dense.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "gpucast/fit/scaling/mixture.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Eigen::VectorXd;
using gpucast::fit::scaling::Cells;
using gpucast::fit::scaling::Component;
using gpucast::fit::scaling::Mixture;
using gpucast::model::scaling::Form;
namespace scaling = gpucast::model::scaling;

void require_positive(const VectorXd& values) {
  if (!(values.array() > 0).all() || !values.allFinite())
    throw std::invalid_argument("sizes, GPU counts and times are above 0");
}

// `seconds` is empty for cells to forecast.
Cells cells(const VectorXd& n, const VectorXd& gpus, const VectorXd& nodes, const VectorXd& seconds,
            const VectorXd& variance) {
  const auto count = n.size();
  if (gpus.size() != count || nodes.size() != count || variance.size() != count ||
      (seconds.size() != count && seconds.size() != 0)) {
    throw std::invalid_argument("the cells' arrays differ in length");
  }
  require_positive(n);
  require_positive(gpus);
  if (!(variance.array() >= 0).all() || !(nodes.array() >= 0).all())
    throw std::invalid_argument("variances and node counts are 0 or more");
  VectorXd log_seconds = VectorXd::Zero(count);
  if (seconds.size() > 0) {
    require_positive(seconds);
    log_seconds = seconds.array().log();
  }
  return {n, gpus, nodes, std::move(log_seconds), variance, VectorXd::Zero(count)};
}

// GPU counts, latency (s), s per byte, bytes of a step: see Network.
using NetworkValues = std::tuple<VectorXd, VectorXd, VectorXd, double>;

gpucast::fit::scaling::Network network(const NetworkValues& from) {
  const auto& [gpus, latency, per_byte, bytes] = from;
  if (latency.size() != gpus.size() || per_byte.size() != gpus.size())
    throw std::invalid_argument("the network's arrays differ in length");
  require_positive(gpus);
  require_positive(latency);
  require_positive(per_byte);
  if (!std::ranges::is_sorted(gpus) || std::isnan(bytes) || bytes < 0 || std::isinf(bytes))
    throw std::invalid_argument("the network's GPU counts ascend, and bytes are 0 or more");
  return {gpus, latency, per_byte, bytes};
}

// Terms, growth of work, overlap, deviates, coefficients (seconds per unit of the shape), weight.
using ComponentValues = std::tuple<std::vector<std::string>, std::string, std::string,
                                   std::array<double, 4>, std::vector<double>, double>;

template <class Range>
std::size_t place(const Range& all, std::string_view name, const char* what) {
  for (std::size_t i = 0; i < std::size(all); ++i)
    if (all[i].name == name) return i;
  throw std::invalid_argument(std::string("unknown ") + what + " '" + std::string(name) + "'");
}

Component component(const ComponentValues& from) {
  const auto& [terms, growth, overlap, deviates, coefficients, weight] = from;
  Form form{
      {}, place(scaling::growths, growth, "growth"), place(scaling::overlaps, overlap, "overlap")};
  for (const std::string& name : terms) {
    const auto term = scaling::term_named(name);
    if (!term) throw std::invalid_argument("unknown term '" + name + "'");
    form.terms.push_back(*term);
  }
  const VectorXd values =
      VectorXd::Map(coefficients.data(), static_cast<Eigen::Index>(coefficients.size()));
  require_positive(values);
  return {std::move(form), deviates, values.array().log(), weight};
}

ComponentValues values_of(const Component& component) {
  std::vector<std::string> terms;
  terms.reserve(component.form.terms.size());
  for (const std::size_t term : component.form.terms)
    terms.emplace_back(scaling::terms[term].name);
  const VectorXd values = component.parameters.array().exp();
  return {terms,
          std::string(scaling::growths[component.form.growth].name),
          std::string(scaling::overlaps[component.form.overlap].name),
          component.deviates,
          {values.begin(), values.end()},
          component.weight};
}

void require_slopes(const VectorXd& gpus, const VectorXd& slopes) {
  require_positive(gpus);
  if (slopes.size() != gpus.size()) throw std::invalid_argument("a slope a GPU count");
}

}  // namespace

void bind_scaling(nb::module_& m) {
  using gpucast::fit::Beyond;
  nb::class_<Beyond>(m, "Beyond",
                     "Effects of breaks in a program's scaling beyond the measured GPU counts "
                     "(fit/include/gpucast/fit/beyond.h).")
      .def(
          "__init__",
          [](Beyond* self, double least_gpus, double largest_gpus) {
            const bool ascending = 0 < least_gpus && least_gpus <= largest_gpus;
            if (!ascending)
              throw std::invalid_argument("GPU counts are above 0, the largest the last");
            new (self) Beyond(least_gpus, largest_gpus);
          },
          "least_gpus"_a, "largest_gpus"_a)
      .def(
          "variance",
          [](const Beyond& self, const VectorXd& gpus, const VectorXd& slopes) {
            require_slopes(gpus, slopes);
            return VectorXd(gpus.binaryExpr(slopes, [&](double count, double slope) {
              return gpucast::fit::mean_square(self.outcomes(self.distance(count), slope));
            }));
          },
          "gpus"_a, "slopes"_a, "Mean square of a break's addition to ln T.")
      .def(
          "draws",
          [](const Beyond& self, const VectorXd& gpus, const VectorXd& slopes, Eigen::Index count,
             std::uint64_t seed) {
            require_slopes(gpus, slopes);
            return self.draws(gpus, slopes, count, seed);
          },
          "gpus"_a, "slopes"_a, "count"_a, "seed"_a,
          "Joint draws of a break's additions to ln T of cells; a row per draw.");
  nb::class_<Mixture>(m, "Scaling",
                      "Forecasts of a program known only by its step times: a mixture over forms "
                      "(model/include/gpucast/model/scaling).")
      .def(
          "__init__",
          [](Mixture* self, const VectorXd& n, const VectorXd& gpus, const VectorXd& nodes,
             const VectorXd& seconds, const VectorXd& variance, const VectorXd& local,
             const std::vector<ComponentValues>& components, double slope_error, double size_error,
             const NetworkValues& collective) {
            const bool valid = slope_error >= 0 && size_error >= 0;
            if (!valid) throw std::invalid_argument("a slope's error is 0 or more");
            std::vector<Component> list;
            list.reserve(components.size());
            for (const ComponentValues& values : components)
              list.push_back(component(values));
            Cells measured = cells(n, gpus, nodes, seconds, variance);
            if (local.size() != n.size() || !(local.array() >= 0).all())
              throw std::invalid_argument("variances are 0 or more, one a cell");
            measured.local = local;
            measured.network = network(collective);
            new (self) Mixture(std::move(measured), std::move(list), slope_error, size_error);
          },
          "n"_a, "gpus"_a, "nodes"_a, "seconds"_a, "variance"_a, "local"_a, "components"_a,
          "slope_error"_a = 0.0, "size_error"_a = 0.0, "network"_a = NetworkValues{})
      .def_prop_ro(
          "components",
          [](const Mixture& self) {
            std::vector<ComponentValues> list;
            for (const Component& component : self.components())
              list.push_back(values_of(component));
            return list;
          },
          "(terms, growth of work, overlap, deviates of noise and processes, coefficients, weight) "
          "of each component.")
      .def_prop_ro(
          "forms",
          [](const Mixture& self) {
            std::vector<std::string> list;
            for (const Component& component : self.components())
              list.push_back(component.form.name());
            return list;
          },
          "The name of each component's form.")
      .def("log_errors", &Mixture::log_errors, "component"_a,
           "Standard deviations of a component's log coefficients.")
      .def_prop_ro("noise", &Mixture::noise, "Relative noise of a cell's time.")
      .def_prop_ro(
          "local", [](const Mixture& self) { return self.cells().local; },
          "Variance of log time that is a measured cell's alone: above 0 where it is unlike all "
          "others.")
      .def(
          "forecast",
          [](const Mixture& self, const VectorXd& n, const VectorXd& gpus, const VectorXd& nodes,
             const VectorXd& variance, unsigned threads) {
            const Cells at = cells(n, gpus, nodes, {}, variance);
            nb::gil_scoped_release release;
            return self.forecast(at, threads).columns();
          },
          "n"_a, "gpus"_a, "nodes"_a, "variance"_a, "threads"_a = 0U,
          "(seconds, low, high, mean_low, mean_high, spread of log T, parts): medians, 90 % "
          "intervals of one measurement (`variance` added to noise) and of the expected time, and "
          "T_gpu, T_cpu, T_com in columns.")
      .def(
          "medians",
          [](const Mixture& self, const VectorXd& n, const VectorXd& gpus, const VectorXd& nodes,
             unsigned threads) {
            const Cells at = cells(n, gpus, nodes, {}, VectorXd::Zero(n.size()));
            nb::gil_scoped_release release;
            return self.medians(at, threads);
          },
          "n"_a, "gpus"_a, "nodes"_a, "threads"_a = 0U,
          "The seconds of `forecast` without added variance.")
      .def(
          "draws",
          [](const Mixture& self, const VectorXd& n, const VectorXd& gpus, const VectorXd& nodes,
             Eigen::Index count, std::uint64_t seed) {
            const Cells at = cells(n, gpus, nodes, {}, VectorXd::Zero(n.size()));
            nb::gil_scoped_release release;
            return Eigen::MatrixXd(self.draws(at, count, seed).array().exp());
          },
          "n"_a, "gpus"_a, "nodes"_a, "count"_a, "seed"_a,
          "Joint draws of the expected times of all cells, s; a row per draw.");
  m.def(
      "fit_scaling",
      [](const VectorXd& n, const VectorXd& gpus, const VectorXd& nodes, const VectorXd& seconds,
         const VectorXd& variance, const VectorXd& repeated, unsigned threads,
         const NetworkValues& collective) {
        Cells measured = cells(n, gpus, nodes, seconds, variance);
        measured.network = network(collective);
        if (repeated.size() != 0 && repeated.size() != n.size())
          throw std::invalid_argument("repeated is one entry a cell");
        measured.repeated = repeated;
        nb::gil_scoped_release release;
        return gpucast::fit::scaling::fit_scaling(measured, threads);
      },
      "n"_a, "gpus"_a, "nodes"_a, "seconds"_a, "variance"_a, "repeated"_a = VectorXd(),
      "threads"_a = 0U, "network"_a = NetworkValues{},
      "The mixture for measured cells: medians in s, and the variance of their logarithms that "
      "repetitions and rounding leave; repeated: 1 where repetitions agree on a cell, so that it "
      "is "
      "no mistake however unlike the others it is.");
  m.def(
      "scaling_shape",
      [](const std::string& term, double n, double gpus, double nodes, double latency,
         double per_byte) {
        const auto place = scaling::term_named(term);
        if (!place) throw std::invalid_argument("unknown term '" + term + "'");
        return scaling::terms[*place].shape(
            {.n = n, .gpus = gpus, .nodes = nodes, .latency = latency, .per_byte = per_byte});
      },
      "term"_a, "n"_a, "gpus"_a, "nodes"_a = 0.0, "latency"_a = 0.0, "per_byte"_a = 0.0,
      "The shape of a scaling term, which multiplies its coefficient, for work in proportion to "
      "n.");
  nb::dict terms;
  for (const auto& term : scaling::terms) {
    constexpr const char* parts[] = {"gpu", "cpu", "com"};
    terms[nb::str(term.name.data(), term.name.size())] = std::pair(
        std::string(term.summary), std::string(parts[static_cast<std::size_t>(term.part)]));
  }
  m.attr("SCALING_TERMS") = terms;
}
