// Scaling terms compared with values computed by hand, and their combination by a form.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "gpucast/model/scaling/form.h"

namespace gpucast::model::scaling {
namespace {

std::size_t place(std::string_view name) { return term_named(name).value_or(terms.size()); }

// 64 elements on 8 GPUs in 8 nodes: domains of 8 elements, surfaces of 4, edges of 2, half of their
// faces cut; a node's domain is its GPU's.
TEST(ScalingTerms, HaveTheirShapes) {
  const Scale step{.n = 64, .gpus = 8, .nodes = 8, .latency = 2e-5, .per_byte = 1e-11};
  const std::map<std::string_view, double> expected{
      {"work", 8},       {"dedicated", 64.0 / 7},
      {"whole", 64},     {"start", 1},
      {"filling", 1},    {"thread", 1},
      {"local", 8},      {"shared", 1.0 / 8},
      {"imbalance", 24}, {"uneven", 4},
      {"halo", 2},       {"shell", 4},
      {"edges", 1},      {"neighbours", .5},
      {"several", 1},    {"reduction", 3},
      {"ring", 7},       {"transpose", std::sqrt(8.0) - 1},
      {"host", 64},      {"crossing", 1},
      {"network", 2},    {"jitter", 8 * (std::pow(8.0, .25) - 1)},
      {"stages", 12},    {"gather", 56},
      {"alltoall", 7},   {"collective", 1e-11},
      {"rounds", 2e-5}};
  for (const Term& term : terms) {
    ASSERT_TRUE(expected.contains(term.name)) << term.name << " has no value here";
    EXPECT_NEAR(term.shape(step), expected.at(term.name), 1e-12) << term.name;
  }
}

TEST(ScalingTerms, OfExchangeCostOneGpuNothing) {
  for (const Term& term : terms)
    if (term.part == Part::com) {
      EXPECT_EQ(term.shape({.n = 1000, .gpus = 1}), 0) << term.name;
    }
}

TEST(ScalingTerms, WorkGrowsAsItsGrowthSays) {
  const std::array<double, 7> expected{64, 256, 512, 4096, 262144, 384, 4096};
  ASSERT_EQ(growths.size(), expected.size());
  for (std::size_t i = 0; i < growths.size(); ++i) {
    const Scale step{.n = 64, .gpus = 1, .growth = &growths[i]};
    EXPECT_NEAR(step.work(), expected[i], 1e-9) << growths[i].name;
  }
}

// 64 elements on 8 GPUs, all pairs: a thread goes through 64 partners, a GPU's own 8 elements have
// 64 pairs.
TEST(ScalingTerms, OfOneElementAndOfAShareAreToldWhereWorkGrowsFaster) {
  const Scale step{.n = 64, .gpus = 8, .growth = &growths[3]};
  EXPECT_DOUBLE_EQ(terms[place("thread")].shape(step), 64);
  EXPECT_DOUBLE_EQ(terms[place("local")].shape(step), 64);
  EXPECT_DOUBLE_EQ(terms[place("work")].shape(step), 512);
}

TEST(ScalingTerms, StayFiniteForAnySizeAndCount) {
  for (const double n : {1e-3, 1.0, 1e18}) {
    for (const double gpus : {1.0, 1e6}) {
      for (const Growth& growth : growths) {
        for (const Term& term : terms) {
          const double shape = term.shape({.n = n, .gpus = gpus, .growth = &growth});
          EXPECT_TRUE(std::isfinite(shape) && shape >= 0) << term.name;
        }
      }
    }
  }
}

TEST(ScalingTerms, AreEachOfOneName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    EXPECT_TRUE(names.insert(terms[i].name).second);
    EXPECT_EQ(term_named(terms[i].name), i);
  }
  EXPECT_FALSE(term_named("no such term"));
}

Form form_of(const std::vector<std::string_view>& names, std::size_t overlap) {
  Form form{{}, 0, overlap};
  for (const auto name : names)
    form.terms.push_back(place(name));
  return form;
}

std::size_t overlap(std::string_view name) { return overlap_named(name).value_or(overlaps.size()); }

TEST(Forms, AddWhereNothingOverlaps) {
  std::vector<double> part{3, 4, 5};
  EXPECT_DOUBLE_EQ(combine(form_of({"work", "start", "halo"}, 0), part), 12);
  EXPECT_EQ(part, (std::vector<double>{3, 4, 5}));
}

// sqrt(3^2 + 4^2) = 5 of work and exchange, and 1 that is never hidden.
TEST(Forms, HideExchangeBehindWork) {
  std::vector<double> part{3, 1, 4};
  const Form form = form_of({"work", "start", "halo"}, overlap("hidden in part"));
  EXPECT_DOUBLE_EQ(combine(form, part), 6);
  EXPECT_DOUBLE_EQ(part[0], 9.0 / 5);
  EXPECT_DOUBLE_EQ(part[1], 1);
  EXPECT_DOUBLE_EQ(part[2], 16.0 / 5);
}

TEST(Forms, FillGpusWithoutHidingExchange) {
  std::vector<double> part{3, 4, 2};
  const Form form = form_of({"work", "filling", "halo"}, overlap("filled"));
  EXPECT_DOUBLE_EQ(combine(form, part), 7);
  EXPECT_DOUBLE_EQ(part[2], 2);
}

// Euler's theorem, and derivatives by differences: d ln f / d ln F_k = part / f.
TEST(Forms, PartsSumToTheStepAndAreItsDerivatives) {
  const std::vector<double> seconds{3e-3, 2e-3, 1e-3, 4e-4};
  for (std::size_t overlap = 0; overlap < overlaps.size(); ++overlap) {
    const Form form = form_of({"work", "filling", "halo", "reduction"}, overlap);
    std::vector<double> part = seconds;
    const double step = combine(form, part);
    double sum = 0;
    for (std::size_t k = 0; k < part.size(); ++k) {
      sum += part[k];
      std::vector<double> more = seconds;
      std::vector<double> less = seconds;
      more[k] *= 1 + 1e-5;
      less[k] *= 1 - 1e-5;
      const double slope = (combine(form, more) - combine(form, less)) / 2e-5;
      EXPECT_NEAR(part[k], slope, 1e-8 * step) << form.name();
    }
    EXPECT_NEAR(sum, step, 1e-12 * step) << form.name();
  }
}

TEST(Forms, MeanSomethingWhereTheyOverlapWhatTheySay) {
  EXPECT_TRUE(form_of({"work", "start"}, 0).is_meaningful());
  EXPECT_FALSE(form_of({"work", "filling"}, 0).is_meaningful());
  EXPECT_TRUE(form_of({"work", "filling"}, overlap("filled")).is_meaningful());
  EXPECT_FALSE(form_of({"work", "halo"}, overlap("filled")).is_meaningful());
  EXPECT_TRUE(form_of({"work", "halo"}, overlap("hidden")).is_meaningful());
  EXPECT_FALSE(form_of({"work", "reduction"}, overlap("hidden")).is_meaningful());
}

TEST(Forms, HaveTermsOfFasterWorkOnlyWhereItGrowsFaster) {
  for (const std::string_view lead : {"work", "local"}) {
    Form form = form_of({lead, "thread"}, overlap("filled sharply"));
    EXPECT_FALSE(form.is_meaningful());
    form.growth = 3;
    EXPECT_TRUE(form.is_meaningful());
    EXPECT_TRUE(form.fills());
  }
  EXPECT_FALSE(form_of({"local"}, 0).is_meaningful());
}

// Twice the least time's work takes twice as long within 1e-9, half of it as long.
TEST(Forms, FillGpusSharply) {
  const Form form = form_of({"work", "filling"}, overlap("filled sharply"));
  std::vector<double> full{2, 1};
  EXPECT_NEAR(combine(form, full), 2, 1e-9);
  std::vector<double> not_full{.5, 1};
  EXPECT_NEAR(combine(form, not_full), 1, 1e-9);
}

TEST(Forms, AreNamedByTheirTerms) {
  Form form = form_of({"work", "start", "halo"}, overlap("hidden"));
  form.growth = 1;
  EXPECT_EQ(form.name(), "work + start + halo, work ~ n^(4/3), hidden");
  EXPECT_EQ(form_of({"work"}, 0).name(), "work");
}

}  // namespace
}  // namespace gpucast::model::scaling
