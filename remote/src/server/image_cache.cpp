#include "server/image_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <mutex>
#include <thread>

namespace gpucast::remote::server {
namespace {

// The beginning of the file; the images follow, in a ring.
struct Directory {
  struct Image {
    Digest sha256{};
    std::size_t begin = 0;
    std::size_t bytes = 0;  // 0: none
  };
  std::size_t next = 0;   // the offset after the newest image
  std::size_t count = 0;  // number of images ever stored
  std::array<Image, 1024> images{};
};

bool read_at(int file, std::size_t offset, std::span<std::byte> into) {
  return ::pread(file, into.data(), into.size(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(into.size());
}
bool write_at(int file, std::size_t offset, Bytes bytes) {
  return ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes.size());
}

// The directory, for the holder of the lock. Converts to false if the lock could not be had.
class Locked {
 public:
  explicit Locked(int file) : file_(file), among_threads_(threads()) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!(locked_ = lock(F_WRLCK)) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    locked_ = locked_ && read_at(file_, 0, std::as_writable_bytes(std::span(&directory, 1)));
  }
  ~Locked() { lock(F_UNLCK); }
  explicit operator bool() const { return locked_; }
  bool write() const { return write_at(file_, 0, std::as_bytes(std::span(&directory, 1))); }

  Directory directory;

 private:
  bool lock(short kind) const {
    struct flock whole{.l_type = kind, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
    return ::fcntl(file_, F_SETLK, &whole) == 0;
  }
  static std::mutex& threads() {
    static std::mutex of_this_process;
    return of_this_process;
  }

  int file_;
  std::unique_lock<std::mutex> among_threads_;  // the other lock excludes only processes
  bool locked_ = false;
};

}  // namespace

support::Descriptor ImageCache::make(std::size_t bytes) {
  support::Descriptor file(::memfd_create("gpucast-images", MFD_CLOEXEC));
  if (::ftruncate(file.get(), static_cast<off_t>(sizeof(Directory) + bytes)) != 0) return {};
  return file;
}

ImageCache::ImageCache(int descriptor) : descriptor_(descriptor) {
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || facts.st_size < static_cast<off_t>(sizeof(Directory)))
    throw std::runtime_error("the images' cache is no such memory");
  room_ = static_cast<std::size_t>(facts.st_size) - sizeof(Directory);
}

std::optional<std::vector<std::byte>> ImageCache::get(const Digest& sha256,
                                                      std::size_t bytes) const {
  std::vector<std::byte> result;
  {
    const Locked cache(descriptor_);
    const auto& images = cache.directory.images;
    const auto image = std::ranges::find_if(images, [&](const Directory::Image& other) {
      return other.bytes == bytes && other.sha256 == sha256;
    });
    if (!cache || bytes == 0 || bytes > room_ || image == images.end() || image->begin > room_)
      return std::nullopt;
    result.resize(bytes);
    if (!read_at(descriptor_, sizeof(Directory) + image->begin, result)) return std::nullopt;
  }
  if (remote::sha256(result) != sha256) return std::nullopt;
  return result;
}

void ImageCache::put(const Digest& sha256, Bytes image) const {
  if (image.empty() || image.size() > room_ / 4) return;
  Locked cache(descriptor_);
  Directory& directory = cache.directory;
  const auto is_it = [&](const Directory::Image& other) {
    return other.bytes == image.size() && other.sha256 == sha256;
  };
  if (!cache || std::ranges::any_of(directory.images, is_it)) return;
  std::size_t begin = directory.next;
  if (begin > room_ || image.size() > room_ - begin) begin = 0;
  directory.next = begin + image.size();
  for (Directory::Image& other : directory.images)
    if (other.begin < directory.next && begin < other.begin + other.bytes) other.bytes = 0;
  // If the process is killed meanwhile, or memory is exhausted, the image has no entry.
  if (!cache.write() || !write_at(descriptor_, sizeof(Directory) + begin, image)) return;
  directory.images.at(directory.count++ % directory.images.size()) = {
      .sha256 = sha256, .begin = begin, .bytes = image.size()};
  cache.write();
}

}  // namespace gpucast::remote::server
