#include "gpucast/model/terms.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace gpucast::model {
namespace {

template <class Range>
void expect_round_trip(const Range& all) {
  for (const auto& member : all) {
    EXPECT_FALSE(name(member).empty());
    const auto same = named(all, name(member));
    ASSERT_TRUE(same.has_value());
    EXPECT_EQ(name(*same), name(member));
  }
}

TEST(Names, LeadBackToWhatTheyName) {
  expect_round_trip(all_gpu_terms);
  expect_round_trip(all_cpu_terms);
  expect_round_trip(all_com_terms);
  expect_round_trip(all_routes);
}

template <class Range>
void expect_distinct(const Range& all) {
  std::set<std::string_view> names;
  for (const auto& member : all)
    EXPECT_TRUE(names.insert(name(member)).second) << name(member);
}

TEST(Names, AreEachOfOneThing) {
  expect_distinct(all_gpu_terms);
  expect_distinct(all_cpu_terms);
  expect_distinct(all_com_terms);
  expect_distinct(all_routes);
}

template <class Range>
std::vector<std::string> words(const Range& all) {
  std::vector<std::string> result;
  for (const auto& member : all)
    result.emplace_back(name(member));
  return result;
}

// Model files and command lines contain these words: none may change.
TEST(Names, AreTheWordsOfTheCommandLine) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(all_gpu_terms), (Words{"wave", "occupancy", "work", "neighbours"}));
  EXPECT_EQ(words(all_cpu_terms), (Words{"linear", "affine", "bent", "none"}));
  EXPECT_EQ(words(all_com_terms),
            (Words{"star-serial", "star-async", "allgather", "mpi", "star-serial-poll",
                   "star-async-poll", "star-async-turns", "allgather-queue", "halo",
                   "star-serial-hide", "star-async-queue", "allgather-once"}));
  EXPECT_EQ(words(all_routes), (Words{"h2d", "d2h", "peer", "staged", "local", "net"}));
}

TEST(Names, OfNothingAreNothing) {
  EXPECT_FALSE(named(all_gpu_terms, "Wave").has_value());
  EXPECT_FALSE(named(all_gpu_terms, "").has_value());
  EXPECT_FALSE(named(all_com_terms, "star_serial").has_value());
}

TEST(Names, TheOnlyStructuralIntegerIsThePapersK) {
  for (const GpuTerm& term : all_gpu_terms)
    EXPECT_EQ(info(term).integer, name(term) == "wave" ? "k" : "");
}

TEST(Catalogue, DescribesASchedulesPlainFormFirst) {
  std::set<std::string_view> seen;
  for (const ComTerm& term : all_com_terms) {
    if (!info(term).schedule.empty() && seen.insert(info(term).schedule).second) {
      EXPECT_EQ(name(term), info(term).schedule);
    }
    EXPECT_EQ(parameters(term).front().name, "t_kernel") << name(term);
  }
}

TEST(Catalogue, ListsTheConstantFirst) {
  for (const GpuTerm& term : all_gpu_terms)
    EXPECT_EQ(parameters(term).front().name == "t_0", info(term).constant) << name(term);
}

}  // namespace
}  // namespace gpucast::model
