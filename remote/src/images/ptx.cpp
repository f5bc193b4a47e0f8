// After the manual of PTX ("Kernel Function Parameters"): each parameter begins at the next
// multiple of its alignment. That is its size or, for arrays of bytes, which structures become, the
// stated one.
#include "images/kernel_parameters.h"

#include <cctype>
#include <charconv>

namespace gpucast::remote::images {
namespace {

// Words and single characters, without comments. An empty word is the end.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text.substr(0, text.find('\0'))) {}

  std::string_view next() {
    skip_what_says_nothing();
    if (rest_.empty()) return {};
    std::size_t length = 0;
    while (length < rest_.size() && in_word(rest_[length]))
      ++length;
    if (length == 0 && rest_.front() == '"') length = up_to("\"", 1);
    return take(length == 0 ? 1 : length);
  }

 private:
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '$' ||
           c == '%';
  }
  std::string_view take(std::size_t length) {
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(word.size());
    return word;
  }
  std::size_t up_to(std::string_view end, std::size_t from) const {
    const std::size_t at = rest_.find(end, from);
    return at == std::string_view::npos ? rest_.size() : at + end.size();
  }
  void skip_what_says_nothing() {
    for (;;)
      if (rest_.starts_with("//"))
        take(up_to("\n", 2));
      else if (rest_.starts_with("/*"))
        take(up_to("*/", 2));
      else if (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
        take(1);
      else
        return;
  }

  std::string_view rest_;
};

std::optional<std::uint32_t> bytes_of_type(std::string_view type) {
  struct Type {
    std::string_view name;
    std::uint32_t bytes;
  };
  static constexpr Type types[] = {{".b8", 1},    {".u8", 1},     {".s8", 1},   {".b16", 2},
                                   {".u16", 2},   {".s16", 2},    {".f16", 2},  {".bf16", 2},
                                   {".b32", 4},   {".u32", 4},    {".s32", 4},  {".f32", 4},
                                   {".f16x2", 4}, {".bf16x2", 4}, {".b64", 8},  {".u64", 8},
                                   {".s64", 8},   {".f64", 8},    {".b128", 16}};
  for (const Type& known : types)
    if (known.name == type) return known.bytes;
  return std::nullopt;
}

std::optional<std::uint32_t> number(std::string_view word) {
  const int base = word.starts_with("0x") ? 16 : 10;
  if (base == 16) word.remove_prefix(2);
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value, base);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == word.data() + word.size();
  return whole ? std::optional(value) : std::nullopt;
}

struct Declared {
  std::optional<std::uint32_t> bytes;  // nothing: a kind that is not supported here
  std::uint32_t alignment = 0;         // 0: not stated
};

// Reads one parameter, from behind `.param` to the character that ends it, which is stored in
// `end`.
Declared declared(Words& words, std::string_view& end) {
  Declared result;
  bool is_pointer = false;  // what follows `.ptr` describes the memory that it points to
  for (std::string_view word = words.next();; word = words.next()) {
    if (word.empty()) throw ImageError("it ends early");
    if (word == "," || word == ")") {
      end = word;
      return result;
    }
    if (word == ".align") {
      const auto stated = number(words.next());
      if (!is_pointer) result.alignment = stated.value_or(0);
    } else if (word == ".ptr") {
      is_pointer = true;
    } else if (word == "[") {
      const auto count = number(words.next());
      if (!count || *count > most_argument_bytes || !result.bytes) {
        result.bytes.reset();
      } else {
        if (result.alignment == 0) result.alignment = *result.bytes;
        *result.bytes *= *count;
      }
    } else if (const auto bytes = bytes_of_type(word)) {
      result.bytes = bytes;
    }
  }
}

// Reads the parameters in parentheses; returns nothing if one is of an unsupported kind.
std::optional<Layout> layout(Words& words) {
  Layout result;
  bool known = true;
  std::uint64_t end = 0;
  for (std::string_view sign = words.next(); sign != ")";) {
    if (sign.empty()) throw ImageError("it ends early");
    if (sign != ".param") {
      sign = words.next();
      continue;
    }
    const Declared one = declared(words, sign);
    const std::uint32_t alignment = one.alignment != 0 ? one.alignment : one.bytes.value_or(1);
    if (!one.bytes || alignment == 0 || alignment > most_argument_bytes ||
        result.size() >= most_parameters) {
      known = false;
      continue;
    }
    const std::uint64_t begin = (end + alignment - 1) / alignment * alignment;
    end = begin + *one.bytes;
    if (end > most_argument_bytes) known = false;
    if (known) result.push_back({.offset = static_cast<std::uint32_t>(begin), .bytes = *one.bytes});
  }
  return known ? std::optional(result) : std::nullopt;
}

}  // namespace

Layouts layouts_of_ptx(std::string_view text) {
  Words words(text);
  Layouts result;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word != ".entry") continue;
    const std::string name(words.next());
    if (words.next() != "(")
      result.emplace(name, Layout());
    else if (auto parameters = layout(words))
      result.emplace(name, std::move(*parameters));
  }
  return result;
}

}  // namespace gpucast::remote::images
