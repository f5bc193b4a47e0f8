// The tables of one process, and the names that their rows refer to by number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

#include "table.h"

namespace gpucast::trace {

// Texts and their numbers, from 1. A new one is a row of the table of names.
class Names {
 public:
  explicit Names(Table<NameRow>& table) : table_(table) {}
  std::uint32_t id(std::string_view text);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  Table<NameRow>& table_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
};

struct Tables {
  explicit Tables(const std::filesystem::path& folder)
      : calls(folder / "calls.arrows"),
        work(folder / "work.arrows"),
        waits(folder / "waits.arrows"),
        ranges(folder / "ranges.arrows"),
        phases(folder / "phases.arrows"),
        streams(folder / "streams.arrows"),
        names(folder / "names.arrows") {}

  // Names first: no row that is in a file may lack its name.
  void write() {
    names.write();
    streams.write();
    calls.write();
    work.write();
    waits.write();
    ranges.write();
    phases.write();
  }
  void close() {
    names.close();
    streams.close();
    calls.close();
    work.close();
    waits.close();
    ranges.close();
    phases.close();
  }

  Table<Call> calls;
  Table<Work> work;
  Table<Wait> waits;
  Table<Range> ranges;
  Table<Phase> phases;
  Table<Stream> streams;
  Table<NameRow> names;
};

inline std::uint32_t Names::id(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  const auto next = static_cast<std::uint32_t>(ids_.size() + 1);
  ids_.emplace(text, next);
  table_.add({next, std::string(text)});
  return next;
}

}  // namespace gpucast::trace
