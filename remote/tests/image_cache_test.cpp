// GPU code that clients of one server have sent, reused by others that need the same.
#include "server/image_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <random>

namespace gpucast::remote::server {
namespace {

std::vector<std::byte> image_of(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> result(bytes);
  for (std::byte& byte : result)
    byte = std::byte(random());
  return result;
}

class KeptImages : public testing::Test {
 protected:
  static constexpr std::size_t room = 1000;
  const support::Descriptor memory_ = ImageCache::make(room);
  ImageCache cache_{memory_.get()};

  void put(const std::vector<std::byte>& image) { cache_.put(sha256(image), image); }
  bool has(const std::vector<std::byte>& image) {
    const auto got = cache_.get(sha256(image), image.size());
    EXPECT_TRUE(!got || *got == image);
    return got.has_value();
  }
};

TEST_F(KeptImages, AreThereForEveryProcessThatHasTheCache) {
  ImageCache another(memory_.get());
  const auto image = image_of(200, 1);
  EXPECT_FALSE(has(image));
  another.put(sha256(image), image);
  EXPECT_TRUE(has(image));
  EXPECT_FALSE(cache_.get(sha256(image), 199));
}

TEST_F(KeptImages, MakeRoomForNewerOnes) {
  for (unsigned k = 0; k < 100; ++k) {
    put(image_of(240, k));
    ASSERT_TRUE(has(image_of(240, k)));
    for (unsigned earlier = k < 3 ? 0 : k - 3; earlier < k; ++earlier)
      ASSERT_TRUE(has(image_of(240, earlier)));
    ASSERT_FALSE(k >= 4 && has(image_of(240, k - 4)));
  }
}

TEST_F(KeptImages, OfMoreThanAQuarterOfTheRoomAreNotKept) {
  put(image_of(251, 1));
  EXPECT_FALSE(has(image_of(251, 1)));
  put(image_of(250, 2));
  EXPECT_TRUE(has(image_of(250, 2)));
}

TEST_F(KeptImages, AreNoneWhereTheyAreNotWhatTheirHashSays) {
  const auto image = image_of(200, 1);
  cache_.put(sha256(image_of(200, 2)), image);
  EXPECT_FALSE(has(image_of(200, 2)));
  EXPECT_FALSE(has(image));
}

// A client may have taken over its server process, to attack others.
TEST_F(KeptImages, AreNoneWhereSomebodyHasWrittenOverAllOfTheCache) {
  const auto image = image_of(200, 1);
  put(image);
  struct stat facts{};
  ASSERT_EQ(::fstat(memory_.get(), &facts), 0);
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  auto* const all = static_cast<unsigned char*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0));
  std::mt19937 random(20250103);
  const std::size_t behind_the_lock = sizeof(pthread_mutex_t);
  for (int round = 0; round < 200; ++round) {
    for (std::size_t k = behind_the_lock; k < bytes; ++k)
      all[k] = static_cast<unsigned char>(random());
    EXPECT_FALSE(has(image));
    put(image);
  }
  ::munmap(all, bytes);
}

TEST_F(KeptImages, OutliveAProcessThatIsKilledAsItWrites) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer takes a lock whose owner has died for one that is not held";
#endif
  for (unsigned k = 0; k < 50; ++k) {
    const pid_t child = ::fork();
    if (child == 0)
      for (unsigned image = 0;; ++image)
        put(image_of(200, image));
    ::usleep(1000 + 200 * k);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    put(image_of(100, 1000 + k));
    ASSERT_TRUE(has(image_of(100, 1000 + k)));
  }
}

}  // namespace
}  // namespace gpucast::remote::server
