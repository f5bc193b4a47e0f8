// The key that is common to the servers of one user and host.
#include "server/peer_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "tests/own_folder.h"

namespace gpucast::remote::server {
namespace {

std::string file_of(const OwnFolder& folder) { return folder.path() + "/gpucast-host-key"; }

TEST(HostKey, IsMadeOnceAndReadableByItsOwnerOnly) {
  const OwnFolder folder;
  folder.use();
  const std::array<std::uint8_t, 3> message = {1, 2, 3};
  const HostKey first;
  const HostKey second;
  EXPECT_EQ(first.id(), second.id());
  EXPECT_EQ(first.id().size(), 32U);
  EXPECT_EQ(first.sign(message), second.sign(message));
  struct stat facts{};
  ASSERT_EQ(stat(file_of(folder).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(facts.st_size, 32);
}

TEST(HostKey, IsTheSameForAllWhoComeAtOnce) {
  const OwnFolder folder;
  folder.use();
  std::array<std::string, 16> ids;
  std::vector<std::thread> threads;
  threads.reserve(ids.size());
  for (std::string& id : ids)
    threads.emplace_back([&id] { id = HostKey().id(); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1U);
}

TEST(HostKey, IsAnotherInAnotherFolder) {
  const OwnFolder here;
  const OwnFolder there;
  here.use();
  const std::string id = HostKey().id();
  there.use();
  EXPECT_NE(HostKey().id(), id);
}

TEST(HostKey, IsNotTakenFromWhatOthersReadOrLaidThere) {
  const OwnFolder folder;
  folder.use();
  const std::string id = HostKey().id();
  ASSERT_EQ(chmod(file_of(folder).c_str(), 0640), 0);
  EXPECT_THROW(HostKey(), std::runtime_error);
  ASSERT_EQ(chmod(file_of(folder).c_str(), 0600), 0);
  EXPECT_EQ(HostKey().id(), id);
  const std::string elsewhere = folder.path() + "/elsewhere";
  ASSERT_EQ(rename(file_of(folder).c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), file_of(folder).c_str()), 0);
  EXPECT_THROW(HostKey(), std::runtime_error);
  ASSERT_EQ(unlink(file_of(folder).c_str()), 0);
  std::ofstream(file_of(folder)) << "short";
  ASSERT_EQ(chmod(file_of(folder).c_str(), 0600), 0);
  EXPECT_THROW(HostKey(), std::runtime_error);
}

}  // namespace
}  // namespace gpucast::remote::server
