// The grid's options.
#pragma once

#include <string>

#include "app/plan.h"

namespace CLI {
class App;
}

namespace gpucast::mdapp {

class GridOptions {
 public:
  void declare(CLI::App& command);
  Grid read() const;  // throws InputError

 private:
  std::string n_;
  std::string gpus_ = "1";
  std::string schedules_ = "star-serial";
  std::string kernels_ = "claret";
  std::string memories_ = "pageable";
  int block_ = 0;
  int j_split_ = 0;
  bool graph_ = false;
};

// A list of whole numbers from 1 to `most`. Throws InputError.
std::vector<int> counts(const char* option, const std::string& text, int most);

}  // namespace gpucast::mdapp
