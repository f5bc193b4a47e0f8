#include "gpucast/fit/scaling/mixture.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "gpucast/fit/parallel.h"
#include "gpucast/fit/student_mixture.h"

namespace gpucast::fit::scaling {

namespace {

Beyond beyond(const Cells& cells) {
  if (cells.size() == 0) throw std::invalid_argument("a mixture needs cells");
  const bool known = (cells.nodes.array() > 0).all();
  return {cells.gpus.minCoeff(), cells.gpus.maxCoeff(), known ? cells.nodes.maxCoeff() : 0};
}

}  // namespace

Mixture::Mixture(Cells cells, std::vector<Component> components, double slope_error,
                 const Priors& priors)
    : cells_(std::move(cells)),
      components_(std::move(components)),
      priors_(priors),
      beyond_(beyond(cells_)),
      slope_error_(slope_error),
      trust_(1 / (1 + std::pow(slope_error / priors.slope_sd, 2))) {
  if (components_.empty()) throw std::invalid_argument("a mixture needs components");
  const Correlations among(priors_, cells_, cells_);
  for (std::size_t i = 0; i < components_.size(); ++i) {
    const Component& component = components_[i];
    if (component.form.parameter_count() != static_cast<std::size_t>(component.parameters.size())) {
      throw std::invalid_argument("a form needs one coefficient a term, and a power where free");
    }
    if (i == 0 || component.deviates != components_[i - 1].deviates) {
      const Amplitudes of = amplitudes(priors_, component.deviates);
      points_.push_back({of, Process(among, of, cells_), {}, {}});
    }
    Point& point = points_.back();
    point.components.push_back(i);
    point.fits.push_back(fit_form(component.form,
                                  shapes(component.form, cells_, cells_.largest_size()), cells_,
                                  point.process, priors_, &component.parameters, 0));
  }
}

double Mixture::noise() const {
  double sum = 0;
  for (const Point& point : points_) {
    for (const std::size_t i : point.components) {
      sum += components_[i].weight * point.amplitudes.noise * point.amplitudes.noise;
    }
  }
  return std::sqrt(sum);
}

Eigen::VectorXd Mixture::log_errors(std::size_t component) const {
  for (const Point& point : points_) {
    for (std::size_t c = 0; c < point.components.size(); ++c) {
      if (point.components[c] != component) continue;
      const Eigen::MatrixXd& precision = point.fits[c].precision;
      const auto count = precision.rows();
      return precision.llt().solve(Eigen::MatrixXd::Identity(count, count)).diagonal().cwiseSqrt();
    }
  }
  throw std::invalid_argument("there is no such component");
}

Eigen::MatrixXd Mixture::local_covariance(const Cells& at) const {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(cells_.size(), at.size());
  for (Eigen::Index i = 0; i < cells_.size(); ++i) {
    if (cells_.local[i] == 0) continue;
    for (Eigen::Index j = 0; j < at.size(); ++j) {
      if (at.n[j] == cells_.n[i] && at.gpus[j] == cells_.gpus[i]) result(i, j) = cells_.local[i];
    }
  }
  return result;
}

// What components say of some cells, one after the other: those that share their deviates, or their
// form, share what follows from it.
class Mixture::Prediction {
 public:
  Prediction(const Mixture& mixture, const Cells& at, bool joint)
      : mixture_(mixture),
        at_(at),
        joint_(joint),
        across_(mixture.priors_, mixture.cells_, at),
        among_(mixture.priors_, at, joint ? at : Cells{}),
        local_(mixture.local_covariance(at)),
        own_(local_.colwise().sum()) {}

  Predicted of(std::size_t component) {
    if (point_ == nullptr || component > point_->components.back() ||
        component < point_->components.front()) {
      enter(component);
    }
    const std::size_t place = component - point_->components.front();
    const Component& from = mixture_.components_[component];
    const FormFit& fit = point_->fits[place];
    const double reference = mixture_.cells_.largest_size();
    auto known_shapes = shapes_.find(from.form);
    if (known_shapes == shapes_.end()) {
      known_shapes = shapes_.emplace(from.form, shapes(from.form, at_, reference)).first;
    }
    FormTimes times = form_times(from.form, known_shapes->second, fit.parameters);
    // How the forecast moves with the coefficients: by the form, less what the process follows.
    const Eigen::MatrixXd slope = times.slopes - known_.transpose() * fit.jacobian;
    const Eigen::MatrixXd half =
        fit.precision.llt().matrixL().solve(Eigen::MatrixXd(slope.transpose()));
    Predicted one{&from,
                  point_->amplitudes.noise * point_->amplitudes.noise,
                  times.log_seconds + known_.transpose() * fit.residuals,
                  {},
                  {},
                  std::move(times.shares)};
    if (joint_) {
      one.covariance = covariance_ + half.transpose() * half;
    } else {
      one.variance = variance_ + half.colwise().squaredNorm().transpose();
    }
    return one;
  }

 private:
  // Goes on to the point of a component.
  void enter(std::size_t component) {
    point_ = &*std::ranges::find_if(
        mixture_.points_, [&](const Point& point) { return component <= point.components.back(); });
    const Amplitudes& amplitudes = point_->amplitudes;
    known_ = point_->process.whiten(Eigen::MatrixXd(across_.covariance(amplitudes) + local_));
    if (joint_) {
      covariance_ = among_.covariance(amplitudes) - known_.transpose() * known_;
      covariance_.diagonal() += own_;
    } else {
      variance_ = (amplitudes.variance() + own_.array() -
                   known_.colwise().squaredNorm().transpose().array())
                      .max(0);
    }
  }

  const Mixture& mixture_;
  const Cells& at_;
  bool joint_;
  Correlations across_;
  Correlations among_;
  Eigen::MatrixXd local_;
  Eigen::VectorXd own_;
  std::map<model::scaling::Form, Shapes> shapes_;
  const Point* point_ = nullptr;
  Eigen::MatrixXd known_;
  Eigen::MatrixXd covariance_;
  Eigen::VectorXd variance_;
};

std::vector<Mixture::Predicted> Mixture::predict(const Cells& at) const {
  Prediction prediction(*this, at, false);
  std::vector<Predicted> result;
  result.reserve(components_.size());
  for (std::size_t i = 0; i < components_.size(); ++i)
    result.push_back(prediction.of(i));
  return result;
}

AveragedForecast Mixture::forecast(const Cells& at, unsigned threads) const {
  return forecast_in_pieces(at.size(), threads,
                            [&](Eigen::Index first, Eigen::Index count, AveragedForecast& into) {
                              forecast_piece(at.some(Eigen::seqN(first, count)), first, into);
                            });
}

Eigen::VectorXd Mixture::medians(const Cells& at, unsigned threads) const {
  const auto piece = [&](Eigen::Index first, Eigen::Index count, AveragedForecast& into) {
    const Cells some = at.some(Eigen::seqN(first, count));
    std::vector<Predicted> predicted = predict(some);
    if (trust_ < 1) draw_to_ideal(some, predicted);
    for (Eigen::Index j = 0; j < count; ++j)
      into.seconds[first + j] = std::exp(measurement(predicted, some, j).quantile(.5));
  };
  return forecast_in_pieces(at.size(), threads, piece).seconds;
}

double Mixture::off_beyond(const Cells& at, Eigen::Index cell) const {
  return std::hypot(slope_error_ * std::sqrt(trust_) * beyond_.distance(at.gpus[cell]),
                    beyond_.jump(at.gpus[cell], at.nodes[cell]));
}

Eigen::VectorXd Mixture::draw_to_ideal(const Cells& at, std::vector<Predicted>& predicted) const {
  Eigen::VectorXd slopes = Eigen::VectorXd::Zero(at.size());
  std::vector<Eigen::Index> far;
  for (Eigen::Index j = 0; j < at.size(); ++j) {
    if (beyond_.distance(at.gpus[j]) > 0) far.push_back(j);
  }
  if (far.empty()) return slopes;
  Cells edge = at.some(far);
  Eigen::Index last = 0;
  edge.gpus.setConstant(cells_.gpus.maxCoeff(&last));
  edge.nodes.setConstant(cells_.nodes[last]);
  Eigen::VectorXd change = Eigen::VectorXd::Zero(edge.size());
  Prediction at_edge(*this, edge, false);
  for (std::size_t i = 0; i < components_.size(); ++i)
    change += components_[i].weight * (predicted[i].mean(far) - at_edge.of(i).mean);
  for (std::size_t k = 0; k < far.size(); ++k) {
    const Eigen::Index j = far[k];
    const double distance = beyond_.distance(at.gpus[j]);
    const double law = change[static_cast<Eigen::Index>(k)] / distance;
    slopes[j] = trust_ * law - (1 - trust_);
    for (Predicted& one : predicted)
      one.mean[j] += (slopes[j] - law) * distance;
  }
  return slopes;
}

StudentMixture Mixture::measurement(const std::vector<Predicted>& predicted, const Cells& at,
                                    Eigen::Index cell) const {
  const double beyond = std::pow(off_beyond(at, cell), 2);
  StudentMixture result;
  for (const Predicted& one : predicted) {
    const double variance = priors_.inflation * one.variance[cell] + beyond;
    result.add(one.component->weight, one.mean[cell],
               std::sqrt(variance + priors_.inflation * one.noise + at.variance[cell]));
  }
  return result;
}

void Mixture::forecast_piece(const Cells& at, Eigen::Index first, AveragedForecast& into) const {
  std::vector<Predicted> predicted = predict(at);
  const Eigen::VectorXd slopes = draw_to_ideal(at, predicted);
  StudentMixture expected;
  for (Eigen::Index j = 0; j < at.size(); ++j) {
    expected.clear();
    double mean = 0;
    double square = 0;
    const double beyond = std::pow(off_beyond(at, j), 2);
    Eigen::RowVector3d shares = Eigen::RowVector3d::Zero();
    for (const Predicted& one : predicted) {
      const double weight = one.component->weight;
      const double variance = priors_.inflation * one.variance[j] + beyond;
      expected.add(weight, one.mean[j], std::sqrt(variance) + 1e-12);
      mean += weight * one.mean[j];
      square += weight * (variance + one.mean[j] * one.mean[j]);
      for (std::size_t k = 0; k < one.component->form.terms.size(); ++k) {
        const auto part = model::scaling::terms[one.component->form.terms[k]].part;
        shares[static_cast<Eigen::Index>(part)] +=
            weight * one.shares(j, static_cast<Eigen::Index>(k));
      }
    }
    const StudentMixture measured = measurement(predicted, at, j);
    const Eigen::Index i = first + j;
    into.set(i, expected, measured, mean, square,
             beyond_.outcomes(beyond_.distance(at.gpus[j]), slopes[j]));
    into.parts.row(i) = into.seconds[i] * shares / shares.sum();
  }
}

Eigen::MatrixXd Mixture::draws(const Cells& at, Eigen::Index count, std::uint64_t seed) const {
  Prediction prediction(*this, at, true);
  std::vector<double> weights;
  weights.reserve(components_.size());
  for (const Component& each : components_)
    weights.push_back(each.weight);
  Eigen::VectorXd slope(at.size());
  Eigen::VectorXd jump(at.size());
  for (Eigen::Index j = 0; j < at.size(); ++j) {
    slope[j] = slope_error_ * std::sqrt(trust_) * beyond_.distance(at.gpus[j]);
    jump[j] = beyond_.jump(at.gpus[j], at.nodes[j]);
  }
  const bool reaches_beyond = (at.gpus.array() > cells_.gpus.maxCoeff()).any();
  std::vector<Predicted> predicted;
  if (reaches_beyond) predicted = predict(at);
  const Eigen::VectorXd slopes = draw_to_ideal(at, predicted);
  return beyond_.draws(at.gpus, slopes, count, seed) +
         fit::draws(
             weights,
             [&](std::size_t i) {
               Predicted one = prediction.of(i);
               if (reaches_beyond) one.mean = predicted[i].mean;
               return Joint{std::move(one.mean), priors_.inflation * one.covariance +
                                                     slope * slope.transpose() +
                                                     jump * jump.transpose()};
             },
             count, seed);
}

}  // namespace gpucast::fit::scaling
