// The tables of one process: rows on their way to their files, and the names that rows refer to by
// number.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrow_stream.h"
#include "rows.h"

namespace gpucast::trace {

template <class Value>
constexpr std::string_view column_type = text_type;
template <>
inline constexpr std::string_view column_type<std::uint8_t> = "C";
template <>
inline constexpr std::string_view column_type<std::uint16_t> = "S";
template <>
inline constexpr std::string_view column_type<std::uint32_t> = "I";
template <>
inline constexpr std::string_view column_type<std::uint64_t> = "L";
template <>
inline constexpr std::string_view column_type<std::int64_t> = "l";

template <class Row>
class Table {
 public:
  explicit Table(const std::filesystem::path& path) : stream_(path, schema()) {}

  void add(Row row) { rows_.push_back(std::move(row)); }
  // The rows of this batch.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

  // Writes the added rows to the file as one batch. Throws std::runtime_error.
  void write() {
    if (rows_.empty()) return;
    std::apply([this](const auto&... column) { this->write_columns(column...); }, described);
    rows_.clear();
  }

  void close() {
    write();
    stream_.close();
  }

 private:
  static constexpr auto described = columns(static_cast<const Row*>(nullptr));
  static constexpr std::size_t count = std::tuple_size_v<decltype(described)>;

  static std::array<ColumnSchema, count> schema() {
    return std::apply(
        []<class... Value>(const Column<Row, Value>&... column) {
          return std::array<ColumnSchema, count>{ColumnSchema{column.name, column_type<Value>}...};
        },
        described);
  }

  // The values of one column in an array.
  template <class Value>
  struct Gathered {
    Gathered(const std::vector<Row>& rows, const Column<Row, Value>& column) {
      values.reserve(rows.size());
      for (const Row& row : rows)
        values.push_back(row.*column.member);
    }
    [[nodiscard]] ColumnValues view() const { return {std::as_bytes(std::span(values))}; }
    std::vector<Value> values;
  };

  template <class Value>
    requires std::is_same_v<Value, std::string>
  struct Gathered<Value> {
    Gathered(const std::vector<Row>& rows, const Column<Row, Value>& column) {
      for (const Row& row : rows) {
        characters += row.*column.member;
        offsets.push_back(static_cast<std::int32_t>(characters.size()));
      }
    }
    [[nodiscard]] ColumnValues view() const {
      return {std::as_bytes(std::span(characters)), offsets};
    }
    std::string characters;
    std::vector<std::int32_t> offsets{0};
  };

  template <class... Value>
  void write_columns(const Column<Row, Value>&... column) {
    const std::tuple<Gathered<Value>...> gathered{Gathered<Value>(rows_, column)...};
    const auto views = std::apply(
        [](const auto&... values) { return std::array<ColumnValues, count>{values.view()...}; },
        gathered);
    stream_.write(rows_.size(), views);
  }

  ArrowStream stream_;
  std::vector<Row> rows_;
};

// Texts and their numbers, from 1. A new text becomes a row of the table of names.
class Names {
 public:
  explicit Names(Table<NameRow>& table) : table_(table) {}
  std::uint32_t id(std::string_view text) {
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    const auto next = static_cast<std::uint32_t>(ids_.size() + 1);
    ids_.emplace(text, next);
    table_.add({next, std::string(text)});
    return next;
  }

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

  void write() {
    in_order([](auto& table) { table.write(); });
  }
  void close() {
    in_order([](auto& table) { table.close(); });
  }

  Table<Call> calls;
  Table<Work> work;
  Table<Wait> waits;
  Table<Range> ranges;
  Table<Phase> phases;
  Table<Stream> streams;
  Table<NameRow> names;

 private:
  // Names come first: no row in a file may lack its name.
  template <class Function>
  void in_order(Function function) {
    const auto all = [&](auto&... table) { (function(table), ...); };
    all(names, streams, calls, work, waits, ranges, phases);
  }
};

}  // namespace gpucast::trace
