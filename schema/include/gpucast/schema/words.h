// Enumerations whose values have a word each, in files and as options of a command.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace gpucast::schema {

template <class Word, std::size_t count>
using Words = std::array<std::pair<Word, std::string_view>, count>;

// The words of an enumeration whose values are 0, 1, 2, ... in that order.
template <class Word, class... Texts>
constexpr auto in_order(Texts... texts) {
  int value = 0;
  return Words<Word, sizeof...(texts)>{std::pair{static_cast<Word>(value++), texts}...};
}

// All words of a type, in the order they are listed to users. Specialized for each type.
template <class Word>
constexpr auto words = nullptr;

// The word as it stands in files.
template <class Word>
constexpr std::string_view name(Word word) {
  for (const auto& [each, text] : words<Word>)
    if (each == word) return text;
  throw std::invalid_argument("no such word");
}

// All values of a type, in the same order.
template <class Word>
constexpr auto all() {
  std::array<Word, words<Word>.size()> values{};
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = words<Word>[k].first;
  return values;
}

}  // namespace gpucast::schema
