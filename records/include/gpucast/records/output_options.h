// Where records go and what they are labelled with: options of commands that write some.
#pragma once

#include <string>
#include <string_view>

#include "gpucast/records/record_file.h"
#include "gpucast/support/command_line.h"

namespace gpucast::records {

class OutputOptions {
 public:
  void declare(support::Options command);
  const std::string& path() const { return path_; }
  // All throw InputError. The empty name of a machine stands for a new one for every run.
  IfExists if_exists() const;
  std::string machine() const;
  std::string label_or(std::string_view usual) const;

 private:
  std::string path_ = "-";
  std::string label_;
  std::string machine_;
  bool append_ = false;
  bool force_ = false;
};

}  // namespace gpucast::records
