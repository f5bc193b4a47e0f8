// Forecasts of a program whose parts of steps are known: several forms, weighted by their evidence
// from the measured times, each with its processes.
#pragma once

#include <cstdint>

#include "gpucast/fit/averaged_forecast.h"
#include "gpucast/fit/components/component_fit.h"

namespace gpucast::fit::components {

struct Component {
  Form form;
  Point point;
  double weight = 0;  // all weights sum to 1
};

// The cells to forecast, and their additional uncertainties.
struct Asked {
  Eigen::VectorXd n;
  Eigen::VectorXd gpus;
  Eigen::VectorXd visits;    // number of visits whose mean is forecast
  Eigen::VectorXd variance;  // additional variance of a measured log time
  // Additional variance also of the expected log time: another time or machine.
  Eigen::VectorXd common;
};

// The computations of GPUs and host in several cells, a row per cell: columns ln T_gpu and ln
// T_cpu.
struct Computing {
  Eigen::MatrixXd mean;
  Eigen::MatrixXd variance;
};

class Mixture {
 public:
  // Throws std::invalid_argument if there are no components, one does not fit its form, a cell has
  // no visit, or a time or variance is invalid.
  Mixture(Measured measured, std::vector<Component> components);
  Mixture(const Mixture&) = delete;
  Mixture& operator=(const Mixture&) = delete;
  Mixture(Mixture&&) = default;
  Mixture& operator=(Mixture&&) = default;
  ~Mixture() = default;

  const Measured& measured() const { return measured_; }
  const std::vector<Component>& components() const { return components_; }
  // Throws std::invalid_argument if there is no such component.
  const FormFit& fit_of(std::size_t component) const;

  // Uses `threads` threads (0: one per core).
  AveragedForecast forecast(const Asked& asked, unsigned threads) const;

  // T_gpu and T_cpu alone; forms must have host work.
  Computing computing(const Eigen::VectorXd& n, const Eigen::VectorXd& gpus) const;

  // `count` draws of the expected ln T of all cells together, a row each.
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
  double log_odds = 0;                                   // prior log odds
  std::vector<std::pair<std::string, LogNormal>> known;  // priors from other data
};

// The mixture for measured visits. If a GPU term with its first communication term is far less
// probable than others, its further communication terms are skipped. Throws std::invalid_argument
// like Mixture's constructor, and if no candidate can be fitted.
Mixture fit_components(const Measured& measured, const std::vector<Candidate>& candidates,
                       unsigned threads);

}  // namespace gpucast::fit::components
