// Lines of a file, or of stdin while somebody still writes them.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "gpucast/support/descriptor.h"

namespace gpucast::mdapp {

class InputLines {
 public:
  // "-": stdin. Throws InputError, `option` first, where the file cannot be opened.
  InputLines(const std::string& option, const std::string& path);

  // Waits for the next line; nothing at the end, or once `interrupted` is requested.
  std::optional<std::string> next(const std::stop_token& interrupted);

  const std::string& name() const noexcept { return name_; }  // "stdin" for "-"
  int number() const noexcept { return number_; }             // of the last line, from 1

 private:
  std::optional<std::string> taken();
  bool read_more(const std::stop_token& interrupted);

  std::string name_;
  support::Descriptor descriptor_;
  std::string buffer_;  // read, not yet taken
  int number_ = 0;
};

}  // namespace gpucast::mdapp
