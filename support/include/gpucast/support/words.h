// Enumerations whose values have a word each, in files and as options of a command.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucast::support {

template <class Word, std::size_t count>
using Words = std::array<std::pair<Word, std::string_view>, count>;

// All words of a type, in the order they are listed to users. Specialized for each type.
template <class Word>
constexpr auto words = nullptr;

// The word as it stands in files.
template <class Word>
std::string name(Word word) {
  for (const auto& [each, text] : words<Word>) {
    if (each == word) {
      return std::string(text);
    }
  }
  throw std::invalid_argument("no such word");
}

// `--memory: "pined" is none of pageable, pinned, ...`
[[noreturn]] void refuse_word(std::string_view option, std::string_view text,
                              std::string_view choices);

// The words of a type, as they are listed to users: "open, dsf, minimum-image".
template <class Word>
std::string choices() {
  std::string all;
  for (const auto& [word, text] : words<Word>) {
    all += (all.empty() ? "" : ", ");
    all += text;
  }
  return all;
}

// The word that an option's text names. Throws InputError, which lists the choices.
template <class Word>
Word parse_word(std::string_view option, std::string_view text) {
  for (const auto& [word, known] : words<Word>) {
    if (known == text) return word;
  }
  refuse_word(option, text, choices<Word>());
}

// The words of a comma-separated list, each once. Throws InputError as parse_word does.
template <class Word>
std::vector<Word> parse_words(std::string_view option, std::string_view text) {
  std::vector<Word> found;
  while (true) {
    const auto comma = text.find(',');
    const auto word = parse_word<Word>(option, text.substr(0, comma));
    if (std::ranges::find(found, word) == found.end()) found.push_back(word);
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace gpucast::support
