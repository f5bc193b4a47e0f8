#include "gpucast/fit/scaling/minimize.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gpucast::fit::scaling {

namespace {

struct Corner {
  Eigen::VectorXd at;
  double value;
};

}  // namespace

Eigen::VectorXd minimize(const std::function<double(const Eigen::VectorXd&)>& function,
                         const Eigen::VectorXd& start, double tolerance, int most_calls) {
  int calls = 0;
  const auto corner = [&](Eigen::VectorXd at) {
    ++calls;
    const double value = function(at);
    return Corner{std::move(at), value};
  };
  std::vector<Corner> simplex{corner(start)};
  for (Eigen::Index i = 0; i < start.size(); ++i) {
    Eigen::VectorXd at = start;
    at[i] += 1;
    simplex.push_back(corner(std::move(at)));
  }
  const auto by_value = [](const Corner& a, const Corner& b) { return a.value < b.value; };
  while (true) {
    std::ranges::sort(simplex, by_value);
    Corner& worst = simplex.back();
    if (worst.value - simplex.front().value < tolerance || calls >= most_calls) break;
    Eigen::VectorXd middle = Eigen::VectorXd::Zero(start.size());
    for (std::size_t i = 0; i + 1 < simplex.size(); ++i)
      middle += simplex[i].at;
    middle /= static_cast<double>(start.size());
    const double second = simplex[simplex.size() - 2].value;
    Corner mirrored = corner(2 * middle - worst.at);
    if (mirrored.value < simplex.front().value) {
      Corner further = corner(3 * middle - 2 * worst.at);
      worst = further.value < mirrored.value ? std::move(further) : std::move(mirrored);
    } else if (mirrored.value < second) {
      worst = std::move(mirrored);
    } else {
      if (mirrored.value < worst.value) worst = std::move(mirrored);
      Corner halfway = corner(.5 * (middle + worst.at));
      if (halfway.value < worst.value)
        worst = std::move(halfway);
      else
        for (std::size_t i = 1; i < simplex.size(); ++i)
          simplex[i] = corner(.5 * (simplex[0].at + simplex[i].at));
    }
  }
  return simplex.front().at;
}

}  // namespace gpucast::fit::scaling
