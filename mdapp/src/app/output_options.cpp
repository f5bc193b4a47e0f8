#include "app/output_options.h"

#include <CLI/CLI.hpp>

namespace gpucast::mdapp {

void OutputOptions::declare(CLI::App& command) {
  command.add_option("-o,--output", path_, "file for the records (-: stdout)")
      ->capture_default_str();
  command.add_flag("--append", append_, "add to the file");
  command.add_flag("--force", force_, "replace the file");
}

records::IfExists OutputOptions::if_exists() const {
  if (append_ && force_) throw records::InputError("--append: cannot go with --force");
  if (append_) return records::IfExists::append;
  return force_ ? records::IfExists::replace : records::IfExists::refuse;
}

}  // namespace gpucast::mdapp
