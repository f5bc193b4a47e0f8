#include "server/image_cache.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <new>
#include <span>
#include <stdexcept>

namespace gpucast::remote::server {

// At the beginning of the memory; the images lie behind it, one after another and around.
struct ImageCache::Shared {
  struct Image {
    Digest sha256{};
    std::size_t begin = 0;
    std::size_t bytes = 0;  // 0: none
  };
  static constexpr std::size_t most_images = 1024;

  pthread_mutex_t mutex{};
  std::size_t next = 0;   // byte behind the newest
  std::size_t count = 0;  // of all that were put in
  std::array<Image, most_images> images;
};

// The memory, for whoever has the lock. False where it cannot be had.
class ImageCache::Mapped {
 public:
  Mapped(int descriptor, std::size_t bytes) : bytes_(bytes) {
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) return;
    shared_ = static_cast<Shared*>(mapped);
    timespec deadline{};
    // On the wall's clock, which ThreadSanitizer knows: where it jumps, one waits longer, or not.
    ::clock_gettime(CLOCK_REALTIME, &deadline);
    ++deadline.tv_sec;
    const int status = ::pthread_mutex_timedlock(&shared_->mutex, &deadline);
    // Whoever was killed with the lock has left what he was writing unnamed.
    if (status == EOWNERDEAD) ::pthread_mutex_consistent(&shared_->mutex);
    locked_ = status == 0 || status == EOWNERDEAD;
  }
  ~Mapped() {
    if (locked_) ::pthread_mutex_unlock(&shared_->mutex);
    if (shared_ != nullptr) ::munmap(shared_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  explicit operator bool() const { return locked_; }

  Shared& shared() const { return *shared_; }
  std::span<std::byte> images() const {
    return {reinterpret_cast<std::byte*>(shared_) + sizeof(Shared), bytes_ - sizeof(Shared)};
  }

 private:
  std::size_t bytes_;
  Shared* shared_ = nullptr;
  bool locked_ = false;
};

support::Descriptor ImageCache::make(std::size_t bytes) {
  support::Descriptor memory(::memfd_create("gpucast-images", MFD_CLOEXEC));
  const std::size_t all = sizeof(Shared) + bytes;
  if (!memory || ::ftruncate(memory.get(), static_cast<off_t>(all)) != 0) return {};
  void* const mapped =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return {};
  auto* const shared = new (mapped) Shared;
  pthread_mutexattr_t kind{};
  ::pthread_mutexattr_init(&kind);
  const bool made = ::pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) == 0 &&
                    ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST) == 0 &&
                    ::pthread_mutex_init(&shared->mutex, &kind) == 0;
  ::pthread_mutexattr_destroy(&kind);
  ::munmap(mapped, sizeof(Shared));
  if (!made) return {};
  return memory;
}

ImageCache::ImageCache(int descriptor) : descriptor_(descriptor) {
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof(Shared)))
    throw std::runtime_error("the images' cache is no such memory");
  bytes_ = static_cast<std::size_t>(facts.st_size);
}

std::optional<std::vector<std::byte>> ImageCache::get(const Digest& sha256,
                                                      std::size_t bytes) const {
  std::vector<std::byte> result;
  {
    const Mapped cache(descriptor_, bytes_);
    if (!cache || bytes == 0) return std::nullopt;
    const auto& all = cache.shared().images;
    const auto found = std::ranges::find_if(all, [&](const Shared::Image& each) {
      return each.bytes == bytes && each.sha256 == sha256;
    });
    if (found == all.end()) return std::nullopt;
    const std::span<const std::byte> images = cache.images();
    const std::size_t begin = found->begin;
    if (begin > images.size() || bytes > images.size() - begin) return std::nullopt;
    const auto image = images.subspan(begin, bytes);
    result.assign(image.begin(), image.end());
  }
  if (remote::sha256(result) != sha256) return std::nullopt;
  return result;
}

void ImageCache::put(const Digest& sha256, Bytes image) const {
  const std::size_t room = bytes_ - sizeof(Shared);
  if (image.empty() || image.size() > room / 4) return;
  const Mapped cache(descriptor_, bytes_);
  if (!cache) return;
  Shared& shared = cache.shared();
  const auto is_it = [&](const Shared::Image& each) {
    return each.bytes == image.size() && each.sha256 == sha256;
  };
  if (std::ranges::any_of(shared.images, is_it)) return;
  std::size_t begin = shared.next;
  if (begin > room || image.size() > room - begin) begin = 0;
  const std::size_t end = begin + image.size();
  // So that memory that the system does not have is no signal.
  if (::posix_fallocate(descriptor_, static_cast<off_t>(sizeof(Shared) + begin),
                        static_cast<off_t>(image.size())) != 0) {
    return;
  }
  for (Shared::Image& each : shared.images) {
    if (each.begin < end && begin < each.begin + each.bytes) each.bytes = 0;
  }
  std::ranges::copy(image, cache.images().subspan(begin).begin());
  shared.images.at(shared.count++ % Shared::most_images) = {
      .sha256 = sha256, .begin = begin, .bytes = image.size()};
  shared.next = end;
}

}  // namespace gpucast::remote::server
