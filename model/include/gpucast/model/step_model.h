// One model: its terms, structural constants, and the position of each parameter in the vector.
#pragma once

#include <array>
#include <optional>

#include "gpucast/model/terms.h"

namespace gpucast::model {

// The three terms of a step time T = T_gpu + T_cpu + T_com, in seconds.
template <class T>
struct StepTime {
  T gpu;
  T cpu;
  T com;

  T total() const { return gpu + cpu + com; }
};

// Terms of a step; absent in a model of transfers alone.
struct StepTerms {
  GpuTerm gpu = Wave{};
  CpuTerm cpu = Linear{};
  ComTerm com = StarSerial{};
};

using TransferCurves = std::array<std::optional<TransferCurve>, route_count>;

// Everything about a model except its parameter values. The parameter vector is [GPU term | CPU
// term | communication term | curve of each route present], with values as in `Parameter`.
class StepModel {
 public:
  // Routes that the communication term needs get a straight line unless `curves` has them.
  // `integer`: the GPU term's structural integer k, at least 1.
  StepModel(std::optional<StepTerms> terms, Machine machine, int integer, TransferCurves curves,
            const Workload& workload = all_pairs)
      : terms_(terms),
        machine_(machine),
        integer_(integer),
        curves_(std::move(curves)),
        workload_(workload) {
    if (terms_) {
      append(parameters_, parameters(terms_->gpu));
      cpu_at_ = parameters_.size();
      append(parameters_, parameters(terms_->cpu));
      com_at_ = parameters_.size();
      append(parameters_, parameters(terms_->com));
      for (const Route route : routes(terms_->com)) {
        auto& curve = curves_[index(route)];
        if (!curve) curve.emplace();
      }
    }
    for (const Route route : all_routes) {
      if (const auto& curve = curves_[index(route)]) {
        curve_at_[index(route)] = parameters_.size();
        append(parameters_, parameters(*curve, std::string(name(route))));
      }
    }
  }

  const std::optional<StepTerms>& terms() const { return terms_; }
  const Machine& machine() const { return machine_; }
  int integer() const { return integer_; }
  const TransferCurves& curves() const { return curves_; }
  const Workload& workload() const { return workload_; }
  const std::vector<Parameter>& parameter_list() const { return parameters_; }
  std::size_t parameter_count() const { return parameters_.size(); }

  // Parameters before this one belong to GPUs, and from it on to the host's work.
  std::size_t first_cpu_parameter() const { return cpu_at_; }
  // Parameters before this one belong to computing, and from it on to launches and transfers.
  std::size_t first_communication_parameter() const { return com_at_; }

  // The same model with another k.
  StepModel with_integer(int integer) const {
    StepModel result = *this;
    result.integer_ = integer;
    return result;
  }

  // The same parameters with times that are linear in their linear coordinates, or nearly so: used
  // to find start values.
  StepModel linear() const {
    StepModel result = *this;
    result.linear_ = true;
    return result;
  }

  // Whether all times are sums of the parameters' linear coordinates with constant factors, except
  // for the given kernel times of a skeleton.
  bool is_linear() const {
    return linear_ || !terms_ ||
           (info(terms_->gpu).linear && info(terms_->cpu).linear && info(terms_->com).linear);
  }

  bool has_curve(Route route) const { return curves_[index(route)].has_value(); }

  // Seconds of one transfer of `bytes` on `route`; the route must have a curve.
  template <class T>
  T transfer_seconds(const T* parameter, Route route, double bytes) const {
    const std::size_t at = index(route);
    return transfer_time(required(curves_[at]), parameter + curve_at_[at], bytes);
  }

  // Seconds of one step of n particles on `gpus` GPUs; the model must have step terms.
  template <class T>
  StepTime<T> step_seconds(const T* parameter, double n, double gpus) const {
    const T gpu = gpu_seconds(parameter, n, gpus);
    return {gpu, cpu_seconds(parameter, n), com_seconds(parameter, n, gpus, gpu)};
  }

  // Seconds of a step whose kernels only keep each GPU busy for a given time, and whose host does
  // nothing: the time of the schedule's communication around them.
  template <class T>
  T skeleton_seconds(const T* parameter, double n, double gpus, double busy) const {
    const T gpu(busy);
    return gpu + com_seconds(parameter, n, gpus, gpu);
  }

  // T_gpu alone.
  template <class T>
  T gpu_seconds(const T* parameter, double n, double gpus) const {
    return term_time(required(terms_).gpu, parameter, step(n, gpus), structure());
  }

  // T_cpu alone.
  template <class T>
  T cpu_seconds(const T* parameter, double n) const {
    return term_time(required(terms_).cpu, parameter + cpu_at_, step(n, 0), structure());
  }

  // Seconds that the host needs to launch `count` kernels one after another.
  template <class T>
  T launch_seconds(const T* parameter, double count) const {
    return count * parameter[com_at_];
  }

 private:
  template <class T>
  T com_seconds(const T* parameter, double n, double gpus, const T& t_gpu) const {
    const auto curve = [&](Route route, double bytes) {
      return transfer_seconds(parameter, route, bytes);
    };
    return com_time(required(terms_).com, parameter + com_at_, curve, step(n, gpus), t_gpu,
                    linear_);
  }

  Step step(double n, double gpus) const { return {n, gpus, &workload_}; }

  Structure structure() const { return {machine_, integer_, linear_}; }

  // The caller guarantees that it exists; this is not checked, since fits evaluate it millions of
  // times.
  template <class T>
  static const T& required(const std::optional<T>& part) {
    return *part;  // NOLINT(bugprone-unchecked-optional-access): the functions above say so
  }

  static std::size_t index(Route route) { return static_cast<std::size_t>(route); }

  static void append(std::vector<Parameter>& all, std::vector<Parameter> more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  std::optional<StepTerms> terms_;
  Machine machine_;
  int integer_ = 1;
  TransferCurves curves_;
  Workload workload_;
  bool linear_ = false;
  std::vector<Parameter> parameters_;
  std::size_t cpu_at_ = 0;
  std::size_t com_at_ = 0;
  std::array<std::size_t, route_count> curve_at_{};
};

}  // namespace gpucast::model
