// JSON Lines that are written during a measurement: a killed run loses at most the present line.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "gpucast/support/command_line.h"
#include "gpucast/support/descriptor.h"
#include "gpucast/support/errors.h"

namespace gpucast::records {

inline constexpr const char* schema = "gpucast.record/1";

// What happens if the file exists.
enum class IfExists { refuse, replace, append };

// A file that grows piece by piece and only ever contains whole pieces.
//
// The constructor reports at once whether the file can be written; the first piece is the first
// change to an existing file (replace: empties it). A new file without a piece is removed again.
// Only one program writes a file at a time. Devices and pipes are written directly.
class WholeFile {
 public:
  // Throws InputError if the file exists and may not be replaced, or cannot be written. Its message
  // begins with `option`; this is empty only for records, for which "-" is stdout.
  WholeFile(const std::string& path, IfExists if_exists, const std::string& option = "");
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  // Throws OutputError on failure; the file then ends with the last whole piece.
  void write(std::string_view piece);
  // Reports errors that only closing shows (network file systems). Throws OutputError. No write may
  // follow.
  void close();
  const std::string& name() const noexcept { return name_; }

 protected:
  // Describes what another program did to the file: removed, replaced, cut or lengthened it; empty:
  // nothing.
  std::string what_happened() const;

  std::string name_;
  support::Descriptor descriptor_;
  bool regular_ = false;  // can be cut
  bool started_ = false;  // a piece was written
  off_t keep_ = 0;        // bytes of whole pieces

 private:
  bool cut() const;  // shortens the file to whole pieces; false: impossible
  void remove_if_empty();

  bool created_ = false;
  off_t size_ = 0;  // bytes of the file when it was opened or last written
};

// A stream of records: a file, or stdout ("-"). When a file is appended to, the half line of a
// killed run is removed first. SIGPIPE is ignored from then on.
//
// Before each record the file is checked: it must still be the one under its name, with the length
// that was written. If it was removed, replaced, cut or lengthened, nothing more is written to it,
// and the records so far are saved beside it as NAME.saved (NAME.saved2, ...).
class RecordFile : private WholeFile {
 public:
  // Throws InputError if the file exists and may not be replaced, or cannot be written.
  explicit RecordFile(const std::string& path, IfExists if_exists = IfExists::refuse);

  // Writes a record, with "schema" first, as one line with one write(2). Throws OutputError if that
  // fails (the file then ends with the last whole line) or the file was changed, and
  // std::invalid_argument for values that are no objects or contain a number that is not finite.
  void write(const nlohmann::ordered_json& record);

  // Reports errors that only closing shows (network file systems), and changes of the file by
  // others. Throws OutputError. No write may follow.
  void close();

  using WholeFile::name;  // "stdout" for "-"

 private:
  void find_end();
  // Throws OutputError after saving the records and `more` elsewhere if the file was changed.
  void require_unchanged(const std::string& more);
  std::string save_beside(const std::string& more) const;

  std::string written_;          // everything that this run wrote
  std::string lost_;             // why nothing can be written any more; empty: writing works
  bool needs_line_end_ = false;  // the last line is whole but lacks its end
};

// Options of commands that write records: their file and labels.
class OutputOptions {
 public:
  void declare(CLI::App* command);
  const std::string& path() const { return path_; }
  // All throw InputError. An empty machine name means a new name for every run.
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
