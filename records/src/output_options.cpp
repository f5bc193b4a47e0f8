#include "gpucast/records/output_options.h"

#include <stdexcept>

#include "checked.h"

namespace gpucast::records {
namespace {

std::string checked(const char* option, const std::string& text) {
  try {
    return label(option, text);
  } catch (const std::invalid_argument& error) {
    throw support::InputError(error.what());
  }
}

}  // namespace

void OutputOptions::declare(support::Options command) {
  command.add("-o,--output", path_, "file for the records (-: stdout)").show_default();
  command.add(
      "--path", label_,
      "label of the records (default: host, native, or over remote GPUs remote, remote-sync or "
      "remote-shm)");
  command.add("--machine", machine_,
              "name of this machine in the records; under one name, records of several runs "
              "and programs are fitted together (default: a new one for every run)");
  command.flag("--append", append_, "add to the file");
  command.flag("--force", force_, "replace the file");
}

IfExists OutputOptions::if_exists() const {
  if (append_ && force_) throw support::InputError("--append: cannot go with --force");
  if (append_) return IfExists::append;
  return force_ ? IfExists::replace : IfExists::refuse;
}

std::string OutputOptions::machine() const {
  return machine_.empty() ? machine_ : checked("--machine", machine_);
}

std::string OutputOptions::label_or(std::string_view usual) const {
  return label_.empty() ? std::string(usual) : checked("--path", label_);
}

}  // namespace gpucast::records
