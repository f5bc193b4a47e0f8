// gpucast._core: several instances of a program on one GPU at once.
#include "bindings.h"

#include <nanobind/eigen/dense.h>

#include <stdexcept>

#include "gpucast/model/sharing.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Eigen::VectorXd;
using gpucast::model::Sharing;

bool within(const VectorXd& values, double least, double most) {
  return (values.array() >= least).all() && (values.array() <= most).all();
}

VectorXd slowdowns(const VectorXd& instances, const VectorXd& busy, const VectorXd& switching,
                   const VectorXd& waiting, const VectorXd& turning, const VectorXd& crowding) {
  const auto count = instances.size();
  for (const VectorXd* column : {&busy, &switching, &waiting, &turning, &crowding})
    if (column->size() != count) throw std::invalid_argument("the arrays differ in length");
  constexpr double many = 1e6;
  if (!within(instances, 1, many) || !within(busy, 0, 1) || !within(switching, 0, many) ||
      !within(waiting, 0, 1) || !within(turning, 0, many) || !within(crowding, 0, many)) {
    throw std::invalid_argument(
        "instances are 1 or more, busy and waiting from 0 to 1, all else 0 or more");
  }
  VectorXd result(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Sharing sharing{busy[i], switching[i], waiting[i], turning[i], crowding[i]};
    result[i] = sharing.slowdown(instances[i]);
  }
  return result;
}

}  // namespace

void bind_sharing(nb::module_& m) {
  m.def("sharing_slowdowns", &slowdowns, "instances"_a, "busy"_a, "switching"_a, "waiting"_a,
        "turning"_a, "crowding"_a, nb::call_guard<nb::gil_scoped_release>(),
        "T_k / T_1 of k instances at once on one GPU, a value per entry (model/sharing.h).\n\n"
        "Raises ValueError: arrays of several lengths, values out of range.");
}
