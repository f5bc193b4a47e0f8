#include "gpucast/model/names.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace gpucast::model {
namespace {

template <class Range>
void expect_round_trip(const Range& all) {
  for (const auto& member : all) {
    EXPECT_FALSE(name(member).empty());
    EXPECT_EQ(named(all, name(member)), member) << name(member);
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
  for (const auto& member : all) {
    EXPECT_TRUE(names.insert(name(member)).second) << name(member);
  }
}

TEST(Names, AreEachOfOneThing) {
  expect_distinct(all_gpu_terms);
  expect_distinct(all_cpu_terms);
  expect_distinct(all_com_terms);
  expect_distinct(all_routes);
}

TEST(Names, AreTheWordsOfTheCommandLine) {
  EXPECT_EQ(named(all_com_terms, "star-serial"), ComTerm::star_serial);
  EXPECT_EQ(named(all_com_terms, "star-async"), ComTerm::star_async);
  EXPECT_EQ(named(all_gpu_terms, "occupancy"), GpuTerm::occupancy);
  EXPECT_EQ(named(all_cpu_terms, "affine"), CpuTerm::affine);
  EXPECT_EQ(named(all_routes, "d2h"), Route::d2h);
  EXPECT_EQ(named(all_gpu_terms, "residency"), GpuTerm::residency);
  EXPECT_EQ(named(all_gpu_terms, "pairs"), GpuTerm::pairs);
  EXPECT_EQ(named(all_cpu_terms, "cached"), CpuTerm::cached);
  EXPECT_EQ(named(all_com_terms, "star-serial-poll"), ComTerm::star_serial_poll);
  EXPECT_EQ(named(all_com_terms, "star-async-poll"), ComTerm::star_async_poll);
  EXPECT_EQ(named(all_com_terms, "star-async-turns"), ComTerm::star_async_turns);
  EXPECT_EQ(named(all_com_terms, "allgather-queue"), ComTerm::allgather_queue);
}

TEST(Names, OfNothingAreNothing) {
  EXPECT_FALSE(named(all_gpu_terms, "Wave").has_value());
  EXPECT_FALSE(named(all_gpu_terms, "").has_value());
  EXPECT_FALSE(named(all_com_terms, "star_serial").has_value());
}

TEST(Names, StructuralIntegersAreThePapersLetters) {
  EXPECT_EQ(structural_integer(GpuTerm::wave), "k");
  EXPECT_EQ(structural_integer(GpuTerm::occupancy), "p");
  EXPECT_EQ(structural_integer(GpuTerm::work), "");
  EXPECT_EQ(structural_integer(GpuTerm::residency), "");
  EXPECT_EQ(structural_integer(GpuTerm::pairs), "");
}

}  // namespace
}  // namespace gpucast::model
