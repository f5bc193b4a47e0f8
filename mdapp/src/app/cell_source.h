// Where the cells to measure come from, one after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "app/plan.h"

namespace gpucast::mdapp {

class CellSource {
 public:
  CellSource() = default;
  CellSource(const CellSource&) = delete;
  CellSource& operator=(const CellSource&) = delete;
  virtual ~CellSource() = default;

  // The next cell, the same on all processes; nothing at the end. Throws InputError.
  virtual std::optional<Cell> next() = 0;
  // How many there are in all; 0: not known.
  virtual std::size_t total() const = 0;
};

// Those of a plan.
class PlannedCells : public CellSource {
 public:
  explicit PlannedCells(std::vector<Cell> cells) : cells_(std::move(cells)) {}

  std::optional<Cell> next() override {
    if (given_ == cells_.size()) return std::nullopt;
    return cells_[given_++];
  }
  std::size_t total() const override { return cells_.size(); }

 private:
  std::vector<Cell> cells_;
  std::size_t given_ = 0;
};

}  // namespace gpucast::mdapp
