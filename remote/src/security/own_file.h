// Files that one user's programs on one host have in common, and nobody else may read.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace gpucast::remote {

// Where the file of that name is: in $XDG_RUNTIME_DIR, or in /tmp/gpucast-UID where that is no
// folder of the user's own. std::runtime_error where others could enter that one.
std::string own_file_path(const std::string& name);

// Its content; nothing where there is none. std::runtime_error with one line where others could
// read or change it.
std::optional<std::string> read_own_file(const std::string& path);

// The same, and where there is none, made with this content, and with its folder: whole or not at
// all, and by the first who comes.
std::string read_or_make_own_file(const std::string& path,
                                  const std::function<std::string()>& content);

}  // namespace gpucast::remote
