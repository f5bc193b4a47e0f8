// Forecasts of a program whose steps' parts are known: several forms, weighed by how plausible the
// measured times make them, each with its processes.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpucast/fit/averaged_forecast.h"
#include "gpucast/fit/components/component_fit.h"
#include "gpucast/fit/components/component_form.h"
#include "gpucast/fit/components/visits.h"

namespace gpucast::fit::components {

struct Component {
  Form form;
  Point point;
  double weight = 0;  // all weights sum to 1
};

// What forecasts are of: cells, and how much more each of them is uncertain.
struct Asked {
  Eigen::VectorXd n;
  Eigen::VectorXd gpus;
  Eigen::VectorXd visits;    // that a measured time is the mean of
  Eigen::VectorXd variance;  // of a measured log time, beyond
  Eigen::VectorXd common;    // of the expected log time, beyond, too: of another time or machine
};

// What GPUs and host compute in some cells, a row a cell: columns ln T_gpu and ln T_cpu.
struct Computing {
  Eigen::MatrixXd mean;
  Eigen::MatrixXd variance;
};

class Mixture {
 public:
  // Throws std::invalid_argument where there are no components, one does not fit its form, a cell
  // has no visit, or a time or variance is none.
  Mixture(Measured measured, std::vector<Component> components);
  Mixture(const Mixture&) = delete;
  Mixture& operator=(const Mixture&) = delete;
  Mixture(Mixture&&) = default;
  Mixture& operator=(Mixture&&) = default;
  ~Mixture() = default;

  const Measured& measured() const { return measured_; }
  const std::vector<Component>& components() const { return components_; }
  // Throws std::invalid_argument where there is no such component.
  const FormFit& fit_of(std::size_t component) const;

  // By `threads` threads (0: one a core).
  AveragedForecast forecast(const Asked& asked, unsigned threads) const;

  // T_gpu and T_cpu alone; forms without host work have none.
  Computing computing(const Eigen::VectorXd& n, const Eigen::VectorXd& gpus) const;

  // `count` draws of the expected ln T of cells together, a row each.
  Eigen::MatrixXd draws(const Eigen::VectorXd& n, const Eigen::VectorXd& gpus, Eigen::Index count,
                        std::uint64_t seed) const;

 private:
  FormFit::Predicted predict(std::size_t component, const Eigen::VectorXd& n,
                             const Eigen::VectorXd& gpus, bool joint) const;

  Measured measured_;
  std::vector<Component> components_;
  std::vector<FormFit> fits_;
};

// A form to try.
struct Candidate {
  model::StepModel model;
  double log_odds = 0;                                   // before any step was timed
  std::vector<std::pair<std::string, LogNormal>> known;  // priors that data other than steps give
};

// The mixture for measured visits. GPU terms that are far less plausible than others with the first
// communication term that they come with are not tried with further ones. Throws
// std::invalid_argument as Mixture's constructor does, and where no candidate can be fitted.
Mixture fit_components(const Measured& measured, const std::vector<Candidate>& candidates,
                       unsigned threads);

}  // namespace gpucast::fit::components
