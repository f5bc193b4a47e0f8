// What a program's own GPU code says of its kernels' parameters. A launch hands over pointers to
// arguments without their sizes, so that whoever states the sizes has so much of the program's
// memory sent: nobody else is asked who can be mistaken or lie.
#pragma once

#include <string>
#include <vector>

#include "images/fat_binary.h"
#include "images/layouts.h"

namespace gpucast::remote::images {

class KernelParameters {
 public:
  // The container has to stay. Nothing of it is read before it is asked for.
  explicit KernelParameters(Bytes container);

  // nullptr where no member that can be read has the kernel.
  const Layout* of(const std::string& kernel);
  // Why members could not be read though they may be sound (a library is missing), in a line; empty
  // where that was not so. Known once a kernel was not found.
  const std::string& unread() const { return unread_; }

 private:
  void read_next();

  std::vector<Member> members_;
  std::size_t read_ = 0;  // so many of them
  Layouts layouts_;
  std::string unread_;
};

}  // namespace gpucast::remote::images
