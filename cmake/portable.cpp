// Linked into everything that is built for other machines (GpucastPortable.cmake), so that it asks
// for nothing that glibc 2.34 (RHEL 9) does not have, where it is linked with a newer one.

#include <sys/random.h>

namespace {
constexpr long whole = sizeof(unsigned int);
}

extern "C" {

// 2.36 has it, and the C++ library's std::random_device asks for it; nothing here uses that.
__attribute__((visibility("hidden"))) unsigned int arc4random() noexcept {
  unsigned int value = 0;
  while (getrandom(&value, sizeof value, 0) != whole) {
  }
  return value;
}

// 2.35 has another version of hypot, which differs in how it sets errno. The linker turns calls of
// hypot into calls of this.
#if defined(__x86_64__)
double old_hypot(double x, double y) noexcept;
__asm__(".symver old_hypot,hypot@GLIBC_2.2.5");
__attribute__((visibility("hidden"))) double __wrap_hypot(double x, double y) noexcept {
  return old_hypot(x, y);
}
#endif
}
