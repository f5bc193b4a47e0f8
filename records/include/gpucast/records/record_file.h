// JSON Lines as they are measured: a killed run loses at most the line under way.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "gpucast/support/command_line.h"
#include "gpucast/support/descriptor.h"
#include "gpucast/support/errors.h"

namespace gpucast::records {

inline constexpr const char* schema = "gpucast.record/1";

// What to do with a file that exists.
enum class IfExists { refuse, replace, append };

// A file that grows piece by piece and holds whole ones only.
//
// The constructor says at once whether the file can be written; an existing file is changed only by
// the first piece (replace: emptied). A new file that gets no piece is removed again. One program
// writes a file at a time. Devices and pipes are written as they are.
class WholeFile {
 public:
  // Throws InputError: the file exists and may not be replaced, or cannot be written. It begins
  // with `option`, of which there is none for records alone: then "-" is stdout.
  WholeFile(const std::string& path, IfExists if_exists, const std::string& option = "");
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  // Throws OutputError where that fails; the file then ends with the last whole piece.
  void write(std::string_view piece);
  // For errors that only closing shows (network file systems). Throws OutputError. No write after.
  void close();
  const std::string& name() const noexcept { return name_; }

 protected:
  // Says in words what somebody else did to it: removed, replaced, cut or lengthened; empty:
  // nothing.
  std::string what_happened() const;

  std::string name_;
  support::Descriptor descriptor_;
  bool regular_ = false;  // can be cut
  bool started_ = false;  // a piece was written
  off_t keep_ = 0;        // bytes of whole pieces, which stay

 private:
  bool cut() const;  // to what stays; false: cannot
  void remove_if_empty();

  bool created_ = false;
  off_t size_ = 0;  // bytes of the file, as it was found or written
};

// A stream of records: a file, or stdout ("-"). Appended to, a file first loses the half line that
// a killed run left. SIGPIPE is ignored from then on.
//
// Before each record it is made sure that the file is still the one under its name and as long as
// it was written. Where somebody removed, replaced, cut or lengthened it, nothing more is written
// there, and what was written so far is saved beside it as NAME.saved (NAME.saved2, ...).
class RecordFile : private WholeFile {
 public:
  // Throws InputError: the file exists and may not be replaced, or cannot be written.
  explicit RecordFile(const std::string& path, IfExists if_exists = IfExists::refuse);

  // Writes a record with "schema" in front, one line with one write(2). Throws OutputError where
  // that fails (the file then ends with the last whole line) or the file is no longer what was
  // written, std::invalid_argument for what is no object or holds a number that is not finite.
  void write(const nlohmann::ordered_json& record);

  // For errors that only closing shows (network file systems), and for a file that is no longer
  // what was written. Throws OutputError. No write after.
  void close();

  using WholeFile::name;  // "stdout" for "-"

 private:
  void find_end();
  // Throws OutputError, once what was written and `more` are saved elsewhere.
  void require_unchanged(const std::string& more);
  std::string save_beside(const std::string& more) const;

  std::string written_;          // all that this run wrote
  std::string lost_;             // why nothing can be written any more; empty: it can
  bool needs_line_end_ = false;  // the last line is whole but for that
};

// Where records go and what they are labelled with: options of commands that write some.
class OutputOptions {
 public:
  void declare(CLI::App* command);
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
