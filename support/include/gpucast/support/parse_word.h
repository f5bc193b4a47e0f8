// Words (gpucast/schema/words.h) as values of options: parsed, and listed for users.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "gpucast/schema/words.h"
#include "gpucast/support/errors.h"

namespace gpucast::support {

// Returns the word in its spelling in files.
template <class Word>
std::string name(Word word) {
  return std::string(schema::name(word));
}

// `--memory: "pined" is none of pageable, pinned, ...`
[[noreturn]] inline void refuse_word(std::string_view option, std::string_view text,
                                     std::string_view choices) {
  throw InputError(std::string(option) + ": \"" + std::string(text) + "\" is none of " +
                   std::string(choices));
}

// Lists words for users: "open, dsf, minimum-image".
template <class Word>
std::string choices(std::span<const Word> among = schema::all<Word>()) {
  std::string listed;
  for (const Word word : among) {
    listed += (listed.empty() ? "" : ", ");
    listed += schema::name(word);
  }
  return listed;
}

// Returns the word that an option's text names, among all or among the allowed ones. Throws
// InputError, which lists the choices.
template <class Word>
Word parse_word(std::string_view option, std::string_view text,
                std::span<const Word> among = schema::all<Word>()) {
  for (const Word word : among)
    if (schema::name(word) == text) return word;
  refuse_word(option, text, choices<Word>(among));
}

// Parses a comma-separated list of words without repetitions. Throws InputError like parse_word.
template <class Word>
std::vector<Word> parse_words(std::string_view option, std::string_view text,
                              std::span<const Word> among = schema::all<Word>()) {
  std::vector<Word> words;
  while (true) {
    const auto comma = text.find(',');
    const auto word = parse_word<Word>(option, text.substr(0, comma), among);
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace gpucast::support
