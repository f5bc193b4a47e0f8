#include "images/kernel_parameters.h"

#include "images/compression.h"

namespace gpucast::remote::images {

KernelParameters::KernelParameters(Bytes container) {
  try {
    members_ = members_of(container);
  } catch (const ImageError&) {
    members_.clear();  // a damaged container has no kernels
  }
}

const Layout* KernelParameters::of(const std::string& kernel) {
  for (;;) {
    if (const auto known = layouts_.find(kernel); known != layouts_.end()) return &known->second;
    if (read_ == members_.size()) return nullptr;
    read_next();
  }
}

// All members have the same source, so that the first one with a kernel decides. A damaged member
// has no kernels.
void KernelParameters::read_next() {
  const Member& member = members_[read_++];
  if (member.kind == Kind::other) return;
  try {
    std::vector<std::byte> room;
    const Bytes content = plain_content(member, room);
    layouts_.merge(
        member.kind == Kind::cubin
            ? layouts_of_cubin(content)
            : layouts_of_ptx({reinterpret_cast<const char*>(content.data()), content.size()}));
  } catch (const ImageError&) {
    return;
  } catch (const MissingLibrary& error) {
    unread_ = error.what();
  }
}

}  // namespace gpucast::remote::images
