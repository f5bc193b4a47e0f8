// A file that grows frame by frame and holds whole ones only.
#pragma once

#include <sys/types.h>

#include <string>

#include "gpucast/support/descriptor.h"

namespace gpucast::mdapp {

class TrajectoryFile {
 public:
  // Throws InputError where the file exists (unless `force`) or cannot be written. An existing file
  // is changed only by the first frame; a new one that gets no frame is removed again.
  TrajectoryFile(std::string path, bool force);
  ~TrajectoryFile();
  TrajectoryFile(const TrajectoryFile&) = delete;
  TrajectoryFile& operator=(const TrajectoryFile&) = delete;

  // Throws OutputError; the file then ends with the last whole frame.
  void write(const std::string& frame);
  void close();  // throws OutputError

 private:
  std::string path_;
  support::Descriptor descriptor_;
  bool created_ = false;
  off_t whole_ = 0;  // bytes of whole frames
};

}  // namespace gpucast::mdapp
