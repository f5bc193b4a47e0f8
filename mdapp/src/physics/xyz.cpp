#include "physics/xyz.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

using support::InputError;

// angstrom/time_unit a angstrom/fs
constexpr double velocity_unit = time_unit / 1e-15;

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> words;
  for (auto begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(blanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return words;
}

template <class Number>
std::optional<Number> number_of(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Lines of a file, counted; errors name file and line.
class Lines {
 public:
  Lines(std::string name, std::string_view text) : name_(std::move(name)), rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  std::string_view next() {
    ++number_;
    const auto end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(name_ + ": line " + std::to_string(number_) + ": " + what);
  }

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::string_view rest_;
  int number_ = 0;
};

std::string quote(std::string_view word) { return "\"" + std::string(word) + "\""; }

// key=value and key="several values", by key.
using Comment = std::map<std::string, std::string, std::less<>>;

Comment comment_of(Lines& lines) {
  std::string_view rest = lines.next();
  Comment comment;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (rest.empty()) return comment;
    const std::string key(rest.substr(0, rest.find_first_of("= \t")));
    rest.remove_prefix(key.size());
    if (!rest.starts_with('=')) continue;  // words of other programs
    const bool in_quotes = rest.starts_with("=\"");
    rest.remove_prefix(in_quotes ? 2 : 1);
    const auto end = rest.find_first_of(in_quotes ? "\"" : " \t");
    if (in_quotes && end == std::string_view::npos) lines.refuse(key + ": the quotes do not end");
    comment[key] = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

double number(const Lines& lines, const std::string& field, std::string_view word) {
  const auto value = number_of<double>(word);
  if (!value || !std::isfinite(*value)) lines.refuse(field + ": " + quote(word) + " is no number");
  return *value;
}

std::vector<double> numbers(const Lines& lines, const std::string& field, const std::string& text,
                            std::size_t count) {
  std::vector<double> values;
  for (const auto word : words_of(text))
    values.push_back(number(lines, field, word));
  if (values.size() != count) {
    lines.refuse(field + ": " + std::to_string(count) + " numbers wanted, " +
                 std::to_string(values.size()) + " found");
  }
  return values;
}

// The box of a frame: a cube.
struct Box {
  double side = 0;  // angstrom
  std::array<double, 3> centre{};
};

// `open_side`: of an open box if the file does not contain it.
Box box_of(const Lines& lines, const Comment& comment, BoundaryKind kind, double open_side) {
  const auto lattice = comment.find("Lattice");
  if (lattice == comment.end()) {
    if (periodic(kind)) lines.refuse("Lattice: missing; a periodic box needs it");
    return {.side = open_side};
  }
  const auto m = numbers(lines, "Lattice", lattice->second, 9);
  const double side = m[0];
  for (std::size_t k = 0; k < m.size(); ++k) {
    const bool diagonal = k % 4 == 0;
    if (side <= 0 || std::abs(m[k] - (diagonal ? side : 0)) > 1e-9 * side)
      lines.refuse("Lattice: only a cube with its edges along x, y, z can be simulated");
  }
  Box box{.side = side, .centre = {side / 2, side / 2, side / 2}};
  if (const auto origin = comment.find("Origin"); origin != comment.end()) {
    const auto corner = numbers(lines, "Origin", origin->second, 3);
    for (std::size_t a = 0; a < 3; ++a)
      box.centre[a] = corner[a] + side / 2;
  }
  return box;
}

constexpr std::size_t nowhere = std::string_view::npos;

// The columns of the fields, and the number of columns.
struct Columns {
  std::size_t species = nowhere;
  std::size_t pos = nowhere;
  std::size_t velo = nowhere;
  std::size_t count = 0;
};

Columns columns_of(const Lines& lines, const Comment& comment) {
  const auto properties = comment.find("Properties");
  std::istringstream text(properties == comment.end() ? "species:S:1:pos:R:3" : properties->second);
  Columns columns;
  for (std::string name, kind, width; std::getline(text, name, ':');) {
    std::getline(text, kind, ':');
    std::getline(text, width, ':');
    const auto count = number_of<int>(width);
    if (!count || *count < 1) {
      lines.refuse("Properties: " + quote((name + ":").append(kind).append(":").append(width)) +
                   " is not name:type:columns");
    }
    if (name == "species" && *count == 1) columns.species = columns.count;
    if (name == "pos" && *count == 3) columns.pos = columns.count;
    if ((name == "velo" || name == "vel") && *count == 3) columns.velo = columns.count;
    columns.count += static_cast<std::size_t>(*count);
  }
  if (columns.species == nowhere) lines.refuse("Properties: no species:S:1");
  if (columns.pos == nowhere) lines.refuse("Properties: no pos:R:3");
  return columns;
}

int type_of(const Lines& lines, std::string_view word, const Salt& salt) {
  for (int type = 0; type < 2; ++type)
    if (word == salt.symbol[static_cast<std::size_t>(type)]) return type;
  lines.refuse("species: " + quote(word) + " is neither " + std::string(salt.symbol[0]) + " nor " +
               std::string(salt.symbol[1]) + ", the ions of " + std::string(salt.name));
}

struct Particles {
  std::vector<int> type;
  std::vector<double> r;
  std::vector<double> v;
};

Particles particles_of(Lines& lines, int n, const Columns& columns, const Salt& salt) {
  Particles particles;
  for (int k = 0; k < n; ++k) {
    if (lines.at_end()) {
      throw InputError(lines.name() + ": ends after " + std::to_string(k) + " of " +
                       std::to_string(n) + " particles");
    }
    const auto words = words_of(lines.next());
    if (words.size() < columns.count) {
      lines.refuse(std::to_string(columns.count) + " fields wanted, " +
                   std::to_string(words.size()) + " found");
    }
    const auto read_three = [&](std::string field, std::size_t column, std::vector<double>& to) {
      for (const char axis : {'x', 'y', 'z'}) {
        field.back() = axis;
        to.push_back(number(lines, field, words[column++]));
      }
    };
    particles.type.push_back(type_of(lines, words[columns.species], salt));
    read_three("pos ?", columns.pos, particles.r);
    if (columns.velo != nowhere) read_three("velo ?", columns.velo, particles.v);
  }
  return particles;
}

// Shifts positions to the box's centre; in a periodic box they are also brought inside.
void place(const std::string& name, const Box& box, BoundaryKind kind, std::vector<double>& r) {
  for (std::size_t k = 0; k < r.size(); ++k) {
    r[k] -= box.centre[k % 3];
    if (periodic(kind)) {
      r[k] = nearest_image(r[k], box.side);
    } else if (std::abs(r[k]) > box.side / 2) {
      throw InputError(name + ": particle " + std::to_string(k / 3 + 1) +
                       " is outside the box of side " + std::to_string(box.side) +
                       " angstrom; Lattice and Origin say where the box is");
    }
  }
}

Boundary boundary_in(const std::string& name, const Box& box, const Surroundings& around) {
  try {
    return boundary_of(box.side, around);
  } catch (const std::invalid_argument& error) {
    throw InputError(name + ": line 2: Lattice: " + error.what());
  }
}

// Appends `values` divided by `unit`, separated by blanks.
void append(std::string& text, std::span<const double> values, double unit = 1) {
  std::array<char, 32> digits{};
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k > 0) text += ' ';
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), values[k] / unit);
    text.append(digits.data(), end.ptr);
  }
}

}  // namespace

XyzStart parse_xyz(const std::string& name, const std::string& text, const Salt& salt,
                   const Surroundings& around) {
  Lines lines(name, text);
  const auto first = words_of(lines.next());
  const auto n = first.size() == 1 ? number_of<int>(first[0]) : std::nullopt;
  if (!n || *n < 1) lines.refuse("the number of particles is missing");
  const Comment comment = comment_of(lines);
  const Box box = box_of(lines, comment, around.kind, box_side(salt, *n, around.kind));
  const Columns columns = columns_of(lines, comment);
  Particles particles = particles_of(lines, *n, columns, salt);
  while (!lines.at_end()) {
    if (!words_of(lines.next()).empty()) {
      lines.refuse("more than the " + std::to_string(*n) +
                   " particles of one frame; keep the frame to start from");
    }
  }
  place(name, box, around.kind, particles.r);
  System system = from_positions(salt, boundary_in(name, box, around), particles.r, particles.type);
  for (std::size_t k = 0; k < particles.v.size(); ++k) {
    const auto origin = static_cast<std::size_t>(system.origin[k / 3]);
    system.v[k] = particles.v[3 * origin + k % 3] * velocity_unit;
  }
  return {.system = std::move(system), .has_velocities = columns.velo != nowhere};
}

XyzStart read_xyz(const std::string& path, const Salt& salt, const Surroundings& around) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  file.peek();
  if (file.eof()) throw InputError(path + ": is empty");
  if (!file || !(text << file.rdbuf())) throw InputError(path + ": cannot be read");
  return parse_xyz(path, text.str(), salt, around);
}

std::string xyz_frame(const System& system, double seconds) {
  const double side = system.boundary.side;
  std::string text = std::to_string(system.n()) + "\nLattice=\"";
  append(text, std::array{side, 0.0, 0.0, 0.0, side, 0.0, 0.0, 0.0, side});
  append(text += "\" Origin=\"", std::array{-side / 2, -side / 2, -side / 2});
  text += periodic(system.boundary.kind) ? "\" pbc=\"T T T" : "\" pbc=\"F F F";
  append(text += "\" Properties=species:S:1:pos:R:3:velo:R:3 Time=", std::array{seconds}, 1e-15);
  text += " Time_unit=fs velo_unit=angstrom/fs\n";
  for (const std::size_t k : system.places()) {
    text += system.salt.symbol[static_cast<std::size_t>(system.type(static_cast<int>(k)))];
    append(text += ' ', std::span(system.r).subspan(3 * k, 3));
    append(text += ' ', std::span(system.v).subspan(3 * k, 3), velocity_unit);
    text += '\n';
  }
  return text;
}

}  // namespace gpucast::mdapp
