// One line of progress, for stderr.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace gpucast::support {

// On a terminal one line is rewritten in place; elsewhere each finished item gets a line. No colour
// codes. What goes to the same stream meanwhile goes through message().
class Progress {
 public:
  struct Style {
    bool quiet = false;      // messages only
    bool rewrite = false;    // a terminal
    std::size_t width = 80;  // its columns: a line that wraps cannot be rewritten
  };

  // What suits stderr.
  static Style for_stderr(bool quiet);

  // `total` items; 0: not known.
  Progress(std::ostream& stream, Style style, std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void under_way(std::string_view item);  // on a terminal only
  void finished(std::string_view item);
  void message(std::string_view line);  // a whole line, quiet or not

 private:
  std::string counted(std::size_t number, std::string_view item) const;
  void show(std::string line);
  void clear();

  std::ostream& stream_;
  Style style_;
  std::size_t total_;
  std::size_t finished_ = 0;
  std::string shown_;
};

}  // namespace gpucast::support
