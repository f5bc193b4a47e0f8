// Memory from another process is accepted only if nothing that the process does can make access to
// it fail.
#include "transport/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <stdexcept>
#include <string>

namespace gpucast::remote {
namespace {

constexpr std::size_t page = 4096;
constexpr unsigned sealable = MFD_CLOEXEC | MFD_ALLOW_SEALING;

support::Descriptor file(unsigned flags, std::size_t bytes, int seals) {
  support::Descriptor result(::memfd_create("test", flags));
  if (!result || ::ftruncate(result.get(), static_cast<off_t>(bytes)) != 0) return {};
  if (seals != 0) ::fcntl(result.get(), F_ADD_SEALS, seals);
  return result;
}

support::Descriptor copy(const SharedMemory& memory) {
  return support::Descriptor(::dup(memory.file().get()));
}

TEST(SharedMemory, IsTheSameForAllWhoHaveIt) {
  const SharedMemory made = SharedMemory::make(page + 1);
  EXPECT_EQ(made.bytes().size(), 2 * page);
  const SharedMemory adopted = SharedMemory::adopt(copy(made), 2 * page);
  EXPECT_NE(made.bytes().data(), adopted.bytes().data());
  made.bytes()[page] = std::byte{7};
  EXPECT_EQ(adopted.bytes()[page], std::byte{7});
}

TEST(SharedMemory, CannotBeMadeShorterOrLonger) {
  const SharedMemory made = SharedMemory::make(2 * page);
  EXPECT_NE(::ftruncate(made.file().get(), page), 0);
  EXPECT_NE(::ftruncate(made.file().get(), 3 * page), 0);
  EXPECT_NE(::fcntl(made.file().get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(SharedMemory, ThatIsNotSealedIsRefused) {
  constexpr int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  EXPECT_NO_THROW(SharedMemory::adopt(file(sealable, page, all), page));
  for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_SEAL, F_SEAL_GROW | F_SEAL_SEAL})
    EXPECT_THROW(SharedMemory::adopt(file(sealable, page, seals), page), std::runtime_error);
}

TEST(SharedMemory, ThatIsShorterThanWasSaidIsRefused) {
  const SharedMemory made = SharedMemory::make(page);
  EXPECT_THROW(SharedMemory::adopt(copy(made), page + 1), std::runtime_error);
  EXPECT_THROW(SharedMemory::adopt(copy(made), static_cast<std::size_t>(-1)), std::runtime_error);
  EXPECT_THROW(SharedMemory::adopt(copy(made), 0), std::runtime_error);
}

TEST(SharedMemory, ThatCouldNotBeWrittenIsRefused) {
  constexpr int all = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  EXPECT_THROW(SharedMemory::adopt(file(sealable, page, all), page), std::runtime_error);
}

TEST(SharedMemory, ThatIsAnotherKindOfFileIsRefused) {
  std::string path = "/tmp/gpucast-shared-XXXXXX";
  support::Descriptor on_disk(::mkstemp(path.data()));
  ASSERT_EQ(::ftruncate(on_disk.get(), page), 0);
  EXPECT_THROW(SharedMemory::adopt(std::move(on_disk), page), std::runtime_error);
  ::unlink(path.c_str());
  EXPECT_THROW(SharedMemory::adopt(support::Descriptor(::open("/dev/zero", O_RDWR)), page),
               std::runtime_error);
  EXPECT_THROW(SharedMemory::adopt(support::Descriptor(), page), std::runtime_error);
}

TEST(SharedMemory, OfHugePagesIsRefusedAsOneOfThemMayBeMissing) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  constexpr int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  support::Descriptor memory = file(sealable | MFD_HUGETLB, huge, all);
  if (!memory) GTEST_SKIP() << "no huge pages here";
  EXPECT_THROW(SharedMemory::adopt(std::move(memory), huge), std::runtime_error);
}

}  // namespace
}  // namespace gpucast::remote
