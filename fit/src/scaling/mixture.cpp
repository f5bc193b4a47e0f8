#include "gpucast/fit/scaling/mixture.h"

#include <Eigen/Cholesky>
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
                 double size_error)
    : cells_(std::move(cells)),
      components_(std::move(components)),
      beyond_(beyond(cells_)),
      slope_error_(slope_error),
      trust_(1 / (1 + std::pow(slope_error / priors.slope_sd, 2))),
      size_error_(size_error) {
  if (components_.empty()) throw std::invalid_argument("a mixture needs components");
  const Correlations among(cells_, cells_);
  for (std::size_t i = 0; i < components_.size(); ++i) {
    const auto& [form, deviates, parameters, weight] = components_[i];
    if (form.parameter_count() != static_cast<std::size_t>(parameters.size()))
      throw std::invalid_argument("a form needs one coefficient a term, and a power where free");
    if (i == 0 || deviates != components_[i - 1].deviates) {
      const Amplitudes at_point = amplitudes(deviates);
      points_.push_back({at_point, Process(among, at_point, cells_)});
    }
    point_of_.push_back(points_.size() - 1);
    fits_.push_back(fit_form(form, cells_, points_.back().process, parameters, 0));
  }
}

double Mixture::noise() const {
  double sum = 0;
  for (std::size_t i = 0; i < components_.size(); ++i)
    sum += components_[i].weight * std::pow(points_[point_of_[i]].amplitudes.noise, 2);
  return std::sqrt(sum);
}

Eigen::VectorXd Mixture::log_errors(std::size_t component) const {
  if (component >= fits_.size()) throw std::invalid_argument("there is no such component");
  const Eigen::MatrixXd& precision = fits_[component].precision;
  const auto count = precision.rows();
  return precision.llt().solve(Eigen::MatrixXd::Identity(count, count)).diagonal().cwiseSqrt();
}

Eigen::MatrixXd Mixture::local_covariance(const Cells& at) const {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(cells_.size(), at.size());
  for (Eigen::Index i = 0; i < cells_.size(); ++i) {
    if (cells_.local[i] == 0) continue;
    for (Eigen::Index j = 0; j < at.size(); ++j)
      if (at.n[j] == cells_.n[i] && at.gpus[j] == cells_.gpus[i]) result(i, j) = cells_.local[i];
  }
  return result;
}

// The predictions of components for some cells, one after the other: components with the same
// deviates, or the same form, share results.
class Mixture::Prediction {
 public:
  Prediction(const Mixture& mixture, const Cells& at, bool joint)
      : mixture_(mixture),
        at_(at),
        joint_(joint),
        across_(mixture.cells_, at),
        among_(at, joint ? at : Cells{}),
        local_(mixture.local_covariance(at)),
        own_(local_.colwise().sum()) {}

  Predicted of(std::size_t component) {
    const Point& point = mixture_.points_[mixture_.point_of_[component]];
    if (point_ != &point) enter(point);
    const Component& from = mixture_.components_[component];
    const FormFit& fit = mixture_.fits_[component];
    auto known_shapes = shapes_.find(from.form);
    if (known_shapes == shapes_.end()) {
      Shapes anew = shapes(from.form, at_, mixture_.cells_.largest_size());
      known_shapes = shapes_.emplace(from.form, std::move(anew)).first;
    }
    const FormTimes times = form_times(from.form, known_shapes->second, fit.parameters);
    // The forecast's derivative with respect to the coefficients: the form's, less the part that
    // the process follows.
    const Eigen::MatrixXd slope = times.slopes - known_.transpose() * fit.jacobian;
    const Eigen::MatrixXd half =
        fit.precision.llt().matrixL().solve(Eigen::MatrixXd(slope.transpose()));
    Predicted one{std::pow(point.amplitudes.noise, 2),
                  times.log_seconds + known_.transpose() * fit.residuals,
                  {},
                  {},
                  Eigen::MatrixXd::Zero(at_.size(), 3)};
    for (std::size_t k = 0; k < from.form.terms.size(); ++k) {
      const auto part = model::scaling::terms[from.form.terms[k]].part;
      one.parts.col(static_cast<Eigen::Index>(part)) +=
          times.shares.col(static_cast<Eigen::Index>(k));
    }
    if (joint_)
      one.covariance = covariance_ + half.transpose() * half;
    else
      one.variance = variance_ + half.colwise().squaredNorm().transpose();
    return one;
  }

 private:
  // Changes to another point.
  void enter(const Point& point) {
    point_ = &point;
    const Amplitudes& amplitudes = point.amplitudes;
    known_ = point.process.whiten(Eigen::MatrixXd(across_.covariance(amplitudes) + local_));
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

AveragedForecast Mixture::forecast(const Cells& at, unsigned threads) const {
  return forecast(at, threads, false);
}

Eigen::VectorXd Mixture::medians(const Cells& at, unsigned threads) const {
  return forecast(at, threads, true).seconds;
}

Eigen::VectorXd Mixture::mean(const Cells& at) const {
  Prediction prediction(*this, at, false);
  Eigen::VectorXd result = Eigen::VectorXd::Zero(at.size());
  for (std::size_t i = 0; i < components_.size(); ++i)
    result += components_[i].weight * prediction.of(i).mean;
  return result;
}

Mixture::Ideal Mixture::ideal(const Cells& at, const Eigen::VectorXd& mean) const {
  Ideal result{Eigen::VectorXd::Zero(at.size()), Eigen::VectorXd::Zero(at.size())};
  std::vector<Eigen::Index> far;
  for (Eigen::Index j = 0; j < at.size(); ++j)
    if (beyond_.distance(at.gpus[j]) > 0) far.push_back(j);
  if (far.empty()) return result;
  Cells edge = at.some(far);
  Eigen::Index last = 0;
  edge.gpus.setConstant(cells_.gpus.maxCoeff(&last));
  edge.nodes.setConstant(cells_.nodes[last]);
  const Eigen::VectorXd at_edge = this->mean(edge);
  for (std::size_t k = 0; k < far.size(); ++k) {
    const Eigen::Index j = far[k];
    const double distance = beyond_.distance(at.gpus[j]);
    const double law = (mean[j] - at_edge[static_cast<Eigen::Index>(k)]) / distance;
    result.slopes[j] = trust_ * law - (1 - trust_);
    result.shift[j] = (result.slopes[j] - law) * distance;
  }
  return result;
}

Mixture::Off Mixture::off_beyond(const Cells& at) const {
  const double slope = slope_error_ * std::sqrt(trust_);
  const double reach = cells_.network.bytes > 0 ? cells_.network.gpus.maxCoeff() : 0;
  const Eigen::VectorXd larger = (at.n.array() / cells_.largest_size()).log().max(0);
  Off off{slope * at.gpus.unaryExpr([&](double gpus) { return beyond_.distance(gpus); }),
          size_error_ * larger,
          at.gpus.binaryExpr(at.nodes,
                             [&](double gpus, double nodes) { return beyond_.jump(gpus, nodes); }),
          {}};
  off.by_node_unmeasured = (at.gpus.array() > reach).select(off.by_node, 0);
  return off;
}

const Eigen::VectorXd& Mixture::Off::of_node(const Component& component) const {
  const auto& terms = component.form.terms;
  const bool measured = std::ranges::find(terms, Priors::collective_term) != terms.end();
  return measured ? by_node_unmeasured : by_node;
}

AveragedForecast Mixture::forecast(const Cells& all, unsigned threads, bool medians_only) const {
  const auto piece = [&](Eigen::Index first, Eigen::Index count, AveragedForecast& into) {
    Cells at = all.some(Eigen::seqN(first, count));
    at.network = cells_.network;
    std::vector<Predicted> predicted;
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(count);
    Prediction prediction(*this, at, false);
    for (std::size_t i = 0; i < components_.size(); ++i)
      mean += components_[i].weight * predicted.emplace_back(prediction.of(i)).mean;
    // The law itself does not move the median.
    const bool moves = !medians_only || trust_ < 1;
    const auto [slopes, shift] = ideal(moves ? at : Cells{}, mean);
    const Off off = off_beyond(at);
    for (Eigen::Index j = 0; j < count; ++j) {
      CellMixture cell;
      for (std::size_t i = 0; i < components_.size(); ++i) {
        const Predicted& one = predicted[i];
        const double by_node = off.of_node(components_[i])[j];
        const double beyond =
            std::pow(off.by_slope[j], 2) + std::pow(off.by_size[j], 2) + std::pow(by_node, 2);
        cell.add(components_[i].weight, one.mean[j] + (moves ? shift[j] : 0),
                 priors.inflation * one.variance[j] + beyond,
                 priors.inflation * one.noise + at.variance[j], one.parts.row(j));
      }
      if (medians_only)
        into.seconds[first + j] = cell.median();
      else
        into.set(first + j, cell, beyond_.outcomes(beyond_.distance(at.gpus[j]), slopes[j]));
    }
  };
  return forecast_in_pieces(all.size(), threads, piece);
}

Eigen::MatrixXd Mixture::draws(Cells at, Eigen::Index count, std::uint64_t seed) const {
  at.network = cells_.network;
  Prediction prediction(*this, at, true);
  const Off off = off_beyond(at);
  const bool reaches_beyond = (at.gpus.array() > cells_.gpus.maxCoeff()).any();
  const auto [slopes, shift] = ideal(at, reaches_beyond ? mean(at) : Eigen::VectorXd{});
  const auto member = [&](std::size_t i) {
    const Predicted one = prediction.of(i);
    const Eigen::VectorXd& by_node = off.of_node(components_[i]);
    return Joint{one.mean + shift,
                 priors.inflation * one.covariance + off.by_slope * off.by_slope.transpose() +
                     off.by_size * off.by_size.transpose() + by_node * by_node.transpose()};
  };
  return beyond_.draws(at.gpus, slopes, count, seed) +
         fit::draws(weights_of(components_), member, count, seed);
}

}  // namespace gpucast::fit::scaling
