// gpucast._core: the model and the fit for Python, as a few functions on arrays; the interpreter
// lock is released while they work.
#include <nanobind/eigen/dense.h>
#include <nanobind/ndarray.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "bindings.h"
#include "gpucast/fit/breakpoints.h"
#include "gpucast/fit/fit.h"
#include "gpucast/fit/robust.h"
#include "gpucast/model/sharing.h"
#include "gpucast/model/workload.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace fit = gpucast::fit;
namespace model = gpucast::model;

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const double> span(const Doubles& array) { return {array.data(), array.size()}; }

// Arrays that are made for the caller own their values, also as properties.
constexpr auto fresh = nb::rv_policy::move;

// Moves a vector into an array, which then owns it.
nb::ndarray<nb::numpy, double, nb::ndim<1>> array(std::vector<double> values) {
  auto owned = std::make_unique<std::vector<double>>(std::move(values));
  nb::capsule owner(owned.get(),
                    [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  auto* const kept = owned.release();
  return {kept->data(), {kept->size()}, owner};
}

template <class Range>
auto required(const Range& all, const std::string& word, const char* what) {
  const auto member = model::named(all, word);
  if (!member) throw std::invalid_argument(std::string("unknown ") + what + " '" + word + "'");
  return *member;
}

template <class Range>
std::vector<std::string_view> words(const Range& all) {
  std::vector<std::string_view> result;
  result.reserve(std::size(all));
  for (const auto& member : all)
    result.push_back(name(member));
  return result;
}

std::tuple<double, double, double> f_test(const fit::FTest& test) {
  return {test.f, test.freedom, test.pure_freedom};
}

void check_values(const model::StepModel& step_model, Eigen::Index count) {
  if (count != static_cast<Eigen::Index>(step_model.parameter_count()))
    throw std::invalid_argument("number of values is not the model's number of parameters");
}

fit::Replicates make_replicates(const model::StepModel& step_model, Eigen::MatrixXd values,
                                std::vector<int> integers) {
  if (values.rows() != static_cast<Eigen::Index>(integers.size()))
    throw std::invalid_argument("one structural integer a replicate is needed");
  if (values.rows() > 0) check_values(step_model, values.cols());
  return {std::move(values), std::move(integers)};
}

void require_steps(const model::StepModel& step_model) {
  if (!step_model.terms())
    throw std::invalid_argument("a model of transfers alone has no step time");
}

using Described = std::vector<std::tuple<std::string, std::string, std::string>>;

Described described(const std::vector<model::Parameter>& parameters) {
  Described list;
  for (const auto& p : parameters)
    list.emplace_back(p.name, p.unit, p.meaning);
  return list;
}

using Priors = std::vector<std::pair<double, double>>;

Priors plausible(const std::vector<model::Parameter>& parameters) {
  Priors list;
  for (const auto& p : parameters)
    list.emplace_back(p.prior.median, p.prior.log_sd);
  return list;
}

// One entry of a catalogue of terms, for Python.
struct CatalogueEntry {
  const model::TermInfo* info;
  Described parameters;
  Priors priors;
  std::vector<std::string_view> routes;
};

template <class Terms>
nb::dict catalogue(const Terms& terms) {
  nb::dict result;
  for (const auto& term : terms) {
    CatalogueEntry entry{&model::info(term), {}, {}, {}};
    const std::vector<model::Parameter> parameters = model::parameters(term);
    if constexpr (requires { model::routes(term); }) entry.routes = words(model::routes(term));
    entry.parameters = described(parameters);
    entry.priors = plausible(parameters);
    result[nb::cast(entry.info->name)] = entry;
  }
  return result;
}

void bind_terms(nb::module_& m) {
  const auto field = [](auto model::TermInfo::* which) {
    return [which](const CatalogueEntry& self) { return self.info->*which; };
  };
  constexpr const char* tried[] = {"always", "decomposed", "by_name"};
  nb::class_<CatalogueEntry>(m, "Term", "A term of the catalogue (model/include/gpucast/model).")
      .def_prop_ro("name", field(&model::TermInfo::name))
      .def_prop_ro("summary", field(&model::TermInfo::summary), "One line.")
      .def_prop_ro("integer", field(&model::TermInfo::integer),
                   "Letter of the structural integer; empty: none.")
      .def_prop_ro("schedule", field(&model::TermInfo::schedule),
                   "The schedule that a communication term describes.")
      .def_prop_ro(
          "needs",
          [](const CatalogueEntry& self) {
            std::vector<std::string_view> facts;
            std::ranges::transform(self.info->needs, std::back_inserter(facts), &model::Fact::name);
            return facts;
          },
          "Facts of the machine that the term needs: cores, sms, block.")
      .def_prop_ro("constant", field(&model::TermInfo::constant))
      .def_prop_ro("linear", field(&model::TermInfo::linear))
      .def_prop_ro("sees_ticks", field(&model::TermInfo::sees_ticks))
      .def_prop_ro(
          "tried",
          [=](const CatalogueEntry& self) {
            return tried[static_cast<std::size_t>(self.info->tried)];
          },
          "When an automatic fit tries the term: always, decomposed, by_name.")
      .def_ro("parameters", &CatalogueEntry::parameters,
              "(name, unit, meaning) of the term's own parameters.")
      .def_ro("priors", &CatalogueEntry::priors,
              "Prior (median, standard deviation of the logarithm) of each of "
              "`parameters`, in its unit; median 0: the data set its scale.")
      .def_ro("routes", &CatalogueEntry::routes,
              "Routes whose transfer curves a communication term evaluates.");
  m.attr("GPU_TERMS") = catalogue(model::all_gpu_terms);
  m.attr("CPU_TERMS") = catalogue(model::all_cpu_terms);
  m.attr("COM_TERMS") = catalogue(model::all_com_terms);
  // Median and standard deviation of the logarithm of latency and throughput.
  m.attr("TRANSFER_PRIORS") = plausible(model::parameters(model::TransferCurve{}, ""));
}

using Powers = std::tuple<double, double, double>;

Powers powers(const model::Amount& amount) { return {amount.factor, amount.n, amount.gpus}; }

model::Amount amount(const Powers& powers) {
  return {std::get<0>(powers), std::get<1>(powers), std::get<2>(powers)};
}

void bind_workload(nb::module_& m) {
  const auto evaluated = [](model::Amount model::Workload::* which) {
    return [which](const model::Workload& self, double n, double gpus) {
      return (self.*which)(n, gpus);
    };
  };
  constexpr auto usual = model::all_pairs;
  nb::class_<model::Workload>(m, "Workload",
                              "The work of a step as a function of n and N. Amounts are given as "
                              "(factor, p, q): factor n^p "
                              "N^q. The defaults are all-pairs forces.")
      .def(
          "__init__",
          [](model::Workload* self, const Powers& visits, const Powers& to_gpu,
             const Powers& from_gpu, const Powers& halo, std::optional<double> operations) {
            new (self) model::Workload{amount(visits), amount(to_gpu), amount(from_gpu),
                                       amount(halo), operations.value_or(std::nan(""))};
          },
          "visits"_a = powers(usual.visits), "to_gpu"_a = powers(usual.to_gpu),
          "from_gpu"_a = powers(usual.from_gpu), "halo"_a = powers(usual.halo),
          "operations"_a.none() = usual.operations)
      .def("visits", evaluated(&model::Workload::visits), "n"_a, "gpus"_a,
           "Units of work for each element of a GPU's share.")
      .def("to_gpu", evaluated(&model::Workload::to_gpu), "n"_a, "gpus"_a, "Bytes to each GPU.")
      .def("from_gpu", evaluated(&model::Workload::from_gpu), "n"_a, "gpus"_a,
           "Bytes from each GPU.")
      .def("halo", evaluated(&model::Workload::halo), "n"_a, "gpus"_a,
           "Bytes that each of several GPUs gets from its neighbours.")
      .def("work", &model::Workload::work, "n"_a, "gpus"_a,
           "Units of work of the GPU with the most.")
      .def("operations_of_step", &model::Workload::operations_of_step, "n"_a,
           "Floating-point operations of a step; NaN if unknown.")
      .def("size_of", &model::Workload::size_of, "bytes_to_gpu"_a, "gpus"_a,
           "The size at which each of N GPUs gets this number of bytes.")
      .def("gflops", &model::Workload::gflops, "n"_a, "seconds"_a)
      .def(
          "counting",
          [](model::Workload self, double operations) {
            self.operations = operations;
            return self;
          },
          "operations"_a, "The same with another number of operations per unit of work.")
      .def_ro("operations", &model::Workload::operations,
              "Floating-point operations of a unit of work.")
      // NOLINTNEXTLINE(misc-redundant-expression): nanobind's way to name an operator
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
  m.attr("ALL_PAIRS") = usual;
}

void bind_model(nb::module_& m) {
  nb::class_<model::StepModel>(m, "Model", "Terms, structural constants and parameter layout.")
      .def(
          "__init__",
          [](model::StepModel* self, const std::optional<std::string>& gpu,
             const std::optional<std::string>& cpu, const std::optional<std::string>& com,
             double cores, double sms, double block, int integer,
             const std::map<std::string, std::vector<double>>& curves,
             const model::Workload& workload) {
            const model::Machine machine{cores, sms, block};
            std::optional<model::StepTerms> terms;
            if (gpu && cpu && com) {
              terms = model::StepTerms{required(model::all_gpu_terms, *gpu, "GPU term"),
                                       required(model::all_cpu_terms, *cpu, "CPU term"),
                                       required(model::all_com_terms, *com, "communication term")};
              if (const auto missing = model::missing_fact(terms->gpu, machine); !missing.empty())
                throw std::invalid_argument("GPU " + missing);
            } else if (gpu || cpu || com) {
              throw std::invalid_argument("a model has all three terms or none");
            }
            if (integer < 1) throw std::invalid_argument("a structural integer is at least 1");
            model::TransferCurves by_route;
            for (const auto& [route, breakpoints] : curves) {
              by_route[static_cast<std::size_t>(required(model::all_routes, route, "route"))] =
                  model::TransferCurve{breakpoints};
            }
            new (self) model::StepModel(terms, machine, integer, by_route, workload);
          },
          "gpu"_a = nb::none(), "cpu"_a = nb::none(), "com"_a = nb::none(), "cores"_a = 0.0,
          "sms"_a = 0.0, "block"_a = 0.0, "integer"_a = 1,
          "curves"_a = std::map<std::string, std::vector<double>>{},
          "workload"_a = model::all_pairs)
      .def_prop_ro(
          "terms",
          [](const model::StepModel& self) {
            const auto& terms = self.terms().value();
            return std::tuple(name(terms.gpu), name(terms.cpu), name(terms.com));
          },
          "Names of the GPU, CPU and communication term of a model of steps.")
      .def_prop_ro("integer", &model::StepModel::integer)
      .def_prop_ro("integer_name",
                   [](const model::StepModel& self) {
                     return self.terms() ? model::info(self.terms()->gpu).integer : "";
                   })
      .def_prop_ro(
          "parameters",
          [](const model::StepModel& self) { return described(self.parameter_list()); },
          "(name, unit, meaning) of each parameter, in the order of value arrays.")
      .def_prop_ro(
          "communication",
          [](const model::StepModel& self) {
            std::vector<std::string> list;
            for (std::size_t i = self.first_communication_parameter(); i < self.parameter_count();
                 ++i)
              list.push_back(self.parameter_list()[i].name);
            return list;
          },
          "Names of the parameters of launches and transfers.")
      .def_prop_ro(
          "curves",
          [](const model::StepModel& self) {
            std::map<std::string_view, std::vector<double>> result;
            for (const auto route : model::all_routes)
              if (const auto& curve = self.curves()[static_cast<std::size_t>(route)])
                result[model::name(route)] = curve->breakpoints;
            return result;
          },
          "Breakpoints in bytes of each route that has a transfer curve.")
      .def("with_integer", &model::StepModel::with_integer, "integer"_a)
      .def(
          "transfer_seconds",
          [](const model::StepModel& self, const Eigen::VectorXd& values, const std::string& route,
             const Doubles& bytes) {
            check_values(self, values.size());
            const auto which = required(model::all_routes, route, "route");
            if (!self.has_curve(which))
              throw std::invalid_argument("the model has no curve for route '" + route + "'");
            std::vector<double> seconds;
            for (const double size : span(bytes))
              seconds.push_back(self.transfer_seconds(values.data(), which, size));
            return array(std::move(seconds));
          },
          "values"_a, "route"_a, "bytes"_a, "Seconds of one transfer of each size.")
      .def(
          "skeleton_seconds",
          [](const model::StepModel& self, const Eigen::VectorXd& values, const Doubles& n,
             const Doubles& gpus, const Doubles& busy) {
            check_values(self, values.size());
            if (!self.terms() || gpus.size() != n.size() || busy.size() != n.size())
              throw std::invalid_argument("no terms, or arrays that differ in length");
            std::vector<double> seconds;
            seconds.reserve(n.size());
            for (std::size_t i = 0; i < n.size(); ++i) {
              seconds.push_back(self.skeleton_seconds(values.data(), n.data()[i], gpus.data()[i],
                                                      busy.data()[i]));
            }
            return array(std::move(seconds));
          },
          "values"_a, "n"_a, "gpus"_a, "busy"_a,
          "Seconds of steps without work, whose kernels keep each GPU busy for a given time.");
}

void bind_fit(nb::module_& m) {
  nb::class_<fit::Observations>(m, "Observations", "Measured times, gathered by cell.")
      .def(
          "__init__",
          [](fit::Observations* self, const Bytes& kind, const Bytes& route, const Doubles& n,
             const Doubles& gpus, const Doubles& bytes, const Doubles& count, const Doubles& busy,
             const Doubles& seconds, const Doubles& rounding_variance) {
            const std::size_t size = seconds.size();
            for (const std::size_t other :
                 {kind.size(), route.size(), n.size(), gpus.size(), bytes.size(), count.size(),
                  busy.size(), rounding_variance.size()}) {
              if (other != size)
                throw std::invalid_argument("arrays of observations differ in length");
            }
            std::vector<fit::Cell> cells(size);
            for (std::size_t i = 0; i < size; ++i) {
              if (kind.data()[i] >= fit::kind_count || route.data()[i] >= model::route_count)
                throw std::invalid_argument("unknown kind or route of an observation");
              cells[i] = {static_cast<fit::Kind>(kind.data()[i]),
                          static_cast<model::Route>(route.data()[i]),
                          n.data()[i],
                          gpus.data()[i],
                          bytes.data()[i],
                          count.data()[i],
                          busy.data()[i]};
            }
            new (self) fit::Observations(cells, span(seconds), span(rounding_variance));
          },
          "kind"_a, "route"_a, "n"_a, "gpus"_a, "bytes"_a, "count"_a, "busy"_a, "seconds"_a,
          "rounding_variance"_a)
      .def_prop_ro("cell_count", &fit::Observations::cell_count)
      .def_prop_ro("sample_count", &fit::Observations::sample_count)
      .def_prop_ro(
          "step_cells",
          [](const fit::Observations& self) {
            std::vector<std::tuple<double, double, double, std::size_t>> cells;
            for (std::size_t j = 0; j < self.cell_count(); ++j) {
              const auto& cell = self.cells()[j];
              if (cell.kind == fit::Kind::step)
                cells.emplace_back(cell.n, cell.gpus, std::exp(self.median_log(j)), self.size(j));
            }
            return cells;
          },
          "(n, gpus, median seconds, samples) of each step cell.");

  nb::class_<fit::Noise>(m, "Noise", "Noise of one group of measurements, relative.")
      .def_ro("total", &fit::Noise::total)
      .def_ro("pure_error", &fit::Noise::pure_error)
      .def_ro("between_cells", &fit::Noise::between_cells)
      .def_prop_ro(
          "lack_of_fit", [](const fit::Noise& self) { return f_test(self.lack_of_fit); },
          "(F, degrees of freedom, of pure error) of the lack-of-fit test.");

  nb::class_<fit::Fit>(m, "Fit", "A fitted model.")
      .def_ro("model", &fit::Fit::model)
      .def_prop_ro("values", &fit::Fit::values)
      .def_prop_ro("converged", [](const fit::Fit& self) { return self.estimate().converged; })
      .def_prop_ro(
          "weights", [](const fit::Fit& self) { return array(self.estimate().weight); }, fresh,
          "Robust weight of every sample, sorted by cell.")
      .def_prop_ro(
          "profile",
          [](const fit::Fit& self) {
            std::vector<std::pair<int, double>> profile;
            for (const auto& entry : self.profile.classes)
              for (const int member : entry.members)
                profile.emplace_back(member, entry.estimate.cost);
            return profile;
          },
          "(structural integer, cost) of every tried integer.")
      .def_prop_ro(
          "plausible",
          [](const fit::Fit& self) {
            std::vector<int> integers;
            for (const std::size_t at : self.profile.plausible(fit::plausible_margin)) {
              const auto& members = self.profile.classes[at].members;
              integers.insert(integers.end(), members.begin(), members.end());
            }
            return integers;
          },
          "Structural integers that the data do not exclude.")
      .def_prop_ro("rank", [](const fit::Fit& self) { return self.identification.rank; })
      .def_prop_ro("identified",
                   [](const fit::Fit& self) { return self.identification.identified; })
      .def_prop_ro("observed", [](const fit::Fit& self) { return self.identification.observed; })
      .def_prop_ro(
          "largest_shares",
          [](const fit::Fit& self) { return array(self.identification.largest_share); }, fresh,
          "Largest share of any measured time that each parameter accounts for.")
      .def_prop_ro(
          "relative_error",
          [](const fit::Fit& self) { return array(self.identification.relative_error); }, fresh)
      .def_prop_ro(
          "combinations",
          [](const fit::Fit& self) {
            const auto& list = self.model.parameter_list();
            std::vector<std::tuple<std::string, std::vector<std::pair<std::size_t, double>>, double,
                                   double>>
                result;
            const Eigen::VectorXd values = self.values();
            const auto& identified = self.identification;
            for (std::size_t i = 0; i < identified.combinations.size(); ++i) {
              const auto& c = identified.combinations[i];
              result.emplace_back(c.expression(list), c.terms, c.value(list, values.data()),
                                  identified.combination_error[i]);
            }
            return result;
          },
          "(expression, [(parameter index, coefficient)], value, standard error).")
      .def_prop_ro(
          "noise",
          [](const fit::Fit& self) {
            std::map<std::string_view, fit::Noise> result;
            for (std::size_t g = 0; g < self.noise.size(); ++g)
              if (self.noise[g].total > 0) result[fit::group_name(g)] = self.noise[g];
            return result;
          },
          "Noise by group: step, cpu, launch, kernel, or the route of a transfer.")
      .def_prop_ro(
          "misfits",
          [](const fit::Fit& self) {
            std::map<std::string, std::tuple<double, double, double>> result;
            for (const auto& misfit : self.misfits)
              result[misfit.name] = f_test(misfit.test);
            return result;
          },
          "(F, degrees of freedom, of pure error) along each named direction, and \"any\".")
      .def(
          "bootstrap",
          [](const fit::Fit& self, std::size_t count, std::uint64_t seed, unsigned threads) {
            nb::gil_scoped_release release;
            auto replicates = self.bootstrap(count, seed, threads);
            return std::pair(std::move(replicates.values), std::move(replicates.integers));
          },
          "count"_a, "seed"_a, "threads"_a = 0U,
          "(values, structural integers) of `count` refits of resampled data.");

  m.def("default_integers", &fit::default_integers, "model"_a, "largest_k"_a);
  m.def(
      "fit",
      [](const model::StepModel& step_model, const fit::Observations& observations,
         const std::vector<int>& integers) {
        nb::gil_scoped_release release;
        return fit::fit(step_model, observations, integers);
      },
      "model"_a, "observations"_a, "integers"_a);
  m.def(
      "cross_validate",
      [](const std::vector<std::pair<model::StepModel, std::vector<int>>>& candidates,
         const fit::Observations& observations, std::size_t folds, std::uint64_t seed,
         unsigned threads) {
        std::vector<fit::Candidate> list;
        list.reserve(candidates.size());
        for (const auto& [candidate, integers] : candidates)
          list.push_back({candidate, integers});
        nb::gil_scoped_release release;
        return fit::cross_validate(list, observations, folds, seed, threads);
      },
      "candidates"_a, "observations"_a, "folds"_a, "seed"_a, "threads"_a = 0U);
  m.def(
      "find_breakpoints",
      [](const fit::Observations& observations, std::size_t largest) {
        nb::gil_scoped_release release;
        return fit::find_breakpoints(observations, largest);
      },
      "observations"_a, "largest"_a);
}

void bind_forecast(nb::module_& m) {
  m.def(
      "forecast",
      [](const model::StepModel& step_model, const Eigen::VectorXd& values,
         Eigen::MatrixXd replicates, std::vector<int> integers, const Doubles& n,
         const Doubles& gpus, unsigned threads) {
        require_steps(step_model);
        check_values(step_model, values.size());
        const auto drawn = make_replicates(step_model, std::move(replicates), std::move(integers));
        if (n.size() != gpus.size()) throw std::invalid_argument("n and gpus differ in length");
        fit::Forecast result;
        {
          nb::gil_scoped_release release;
          result = fit::forecast(step_model, values, drawn, span(n), span(gpus), threads);
        }
        return std::tuple(array(std::move(result.gpu)), array(std::move(result.cpu)),
                          array(std::move(result.com)), array(std::move(result.spread)));
      },
      "model"_a, "values"_a, "replicates"_a, "integers"_a, "n"_a, "gpus"_a, "threads"_a = 0U,
      "(T_gpu, T_cpu, T_com, spread of log T) for pairs of n and gpus.");
  m.def(
      "best_probability",
      [](const model::StepModel& step_model, Eigen::MatrixXd replicates, std::vector<int> integers,
         const Doubles& n, const Doubles& gpus, unsigned threads) {
        require_steps(step_model);
        if (gpus.size() == 0 || integers.empty())
          throw std::invalid_argument("needs a GPU count and a replicate to choose from");
        const auto drawn = make_replicates(step_model, std::move(replicates), std::move(integers));
        nb::gil_scoped_release release;
        return fit::best_probability(step_model, drawn, span(n), span(gpus), threads);
      },
      "model"_a, "replicates"_a, "integers"_a, "n"_a, "gpus"_a, "threads"_a = 0U,
      "Share of replicates in which each GPU count is the fastest, one row per n.");
  m.def("median_variance", &fit::median_variance, "count"_a,
        "Variance of the median of normal values, relative to one value's.");
  m.def("efficiency", &model::efficiency, "seconds_one_gpu"_a, "seconds"_a, "gpus"_a);
}

bool within(const Eigen::VectorXd& values, double least, double most) {
  return (values.array() >= least).all() && (values.array() <= most).all();
}

Eigen::VectorXd slowdowns(const Eigen::VectorXd& instances, const Eigen::VectorXd& busy,
                          const Eigen::VectorXd& switching, const Eigen::VectorXd& waiting,
                          const Eigen::VectorXd& turning, const Eigen::VectorXd& crowding) {
  const auto count = instances.size();
  for (const Eigen::VectorXd* column : {&busy, &switching, &waiting, &turning, &crowding})
    if (column->size() != count) throw std::invalid_argument("the arrays differ in length");
  constexpr double many = 1e6;
  if (!within(instances, 1, many) || !within(busy, 0, 1) || !within(switching, 0, many) ||
      !within(waiting, 0, 1) || !within(turning, 0, many) || !within(crowding, 0, many)) {
    throw std::invalid_argument(
        "instances are 1 or more, busy and waiting from 0 to 1, all else 0 or more");
  }
  Eigen::VectorXd result(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const model::Sharing sharing{busy[i], switching[i], waiting[i], turning[i], crowding[i]};
    result[i] = sharing.slowdown(instances[i]);
  }
  return result;
}

void bind_sharing(nb::module_& m) {
  m.def("sharing_slowdowns", &slowdowns, "instances"_a, "busy"_a, "switching"_a, "waiting"_a,
        "turning"_a, "crowding"_a, nb::call_guard<nb::gil_scoped_release>(),
        "T_k / T_1 of k instances at once on one GPU, a value per entry (model/sharing.h).\n\n"
        "Raises ValueError: arrays of several lengths, values out of range.");
}

}  // namespace

NB_MODULE(_core, m) {
  // Models that a program keeps until its end are no leaks.
  nb::set_leak_warnings(false);
  m.doc() = "Step-time model and its fit.";
  bind_workload(m);
  bind_model(m);
  bind_fit(m);
  bind_forecast(m);
  bind_terms(m);
  bind_scaling(m);
  bind_sharing(m);
  bind_components(m);
  m.attr("ROUTES") = words(model::all_routes);
}
