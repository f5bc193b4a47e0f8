// A form: the scaling terms that make up a program's steps, how work grows with n, and what
// overlaps.
//
//     f = after + (W^q + B^q)^(1/q)
//
// W is the sum of the terms of work, B of the terms beside it (catalogue.h). q = 1 adds them, q = 4
// is nearly the larger of the two, and values in between hide a part. If exchange is not hidden,
// the minimum time of a GPU that is not full may still be (Overlap::filling).
//
// f is homogeneous of degree 1 in the terms' seconds F_k, so f = sum_k F_k df/dF_k (Euler): these
// are the parts that the terms have in a step time, hidden seconds left out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpucast/model/scaling/catalogue.h"

namespace gpucast::model::scaling {

struct Overlap {
  std::string_view name;  // empty: nothing overlaps
  double q;               // below 2, or a power of 2
  bool exchange;          // whether exchange overlaps with work; otherwise only filling does
  double odds;            // prior log odds
  double beyond = 0;      // how many times the largest measured work fills a GPU; 0: not specified
};

// Most steps that do not get shorter at small sizes wait for one thing: the host's launches, or one
// wave of blocks. Such a knee is sharp, and as probable as all smooth ones together, which come
// from many kernels with knees of their own.
inline constexpr std::array overlaps{
    Overlap{"", 1, true, 0},
    Overlap{"hidden in part", 2, true, -3},
    Overlap{"hidden", 4, true, -3},
    Overlap{"filled slowly", 1.5, false, -3},
    Overlap{"filled", 2, false, -3},
    Overlap{"filled at once", 4, false, -3},
    Overlap{"filled sharply", 32, false, -2},
    Overlap{"filled beyond", 32, false, -3, 4},
    Overlap{"filled far beyond", 32, false, -3, 12},
};

constexpr std::optional<std::size_t> overlap_named(std::string_view name) {
  for (std::size_t i = 0; i < overlaps.size(); ++i)
    if (overlaps[i].name == name) return i;
  return std::nullopt;
}

struct Form {
  std::vector<std::size_t> terms;  // places in the catalogue, ascending
  std::size_t growth = 0;          // place in `growths`
  std::size_t overlap = 0;         // place in `overlaps`

  friend auto operator<=>(const Form&, const Form&) = default;

  // Whether the power of the work is a parameter, in addition to the terms' coefficients.
  bool is_free() const { return growths[growth].freedom > 0; }

  std::size_t parameter_count() const { return terms.size() + (is_free() ? 1 : 0); }

  bool adds() const { return overlaps[overlap].q == 1; }

  // Whether a term is in B of this form.
  bool beside(std::size_t term) const {
    const Place place = scaling::terms[term].place;
    return place == Place::filling || (place == Place::beside && overlaps[overlap].exchange);
  }

  // Whether the form models GPUs that are not full.
  bool fills() const {
    for (const std::size_t term : terms)
      if (scaling::terms[term].place == Place::filling) return true;
    return false;
  }

  // Whether the form is consistent: something overlaps if it says so, and the minimum time of a GPU
  // that is not full is no term of a sum (there it is `start`).
  bool is_meaningful() const {
    for (const std::size_t term : terms)
      if (growth == 0 && scaling::terms[term].faster) return false;
    for (const std::size_t term : terms) {
      if (adds() && scaling::terms[term].place == Place::filling) return false;
      if (!adds() && beside(term)) return true;
    }
    return adds();
  }

  // "work + start + halo, work ~ n^(4/3), hidden in part"
  std::string name() const {
    std::string result;
    for (const std::size_t term : terms)
      result.append(result.empty() ? "" : " + ").append(scaling::terms[term].name);
    if (growth > 0) result.append(", work ~ ").append(growths[growth].name);
    if (!adds()) result.append(", ").append(overlaps[overlap].name);
    return result;
  }
};

// x^q without logarithm and exponential for most q of `overlaps`: fits call it millions of times.
inline double raised(double x, double q) {
  if (q < 2) return std::pow(x, q);
  double result = x;
  for (int reached = 1; reached < q; reached *= 2)
    result *= result;
  return result;
}

// Returns the seconds of a step whose terms take `part` seconds each (in the form's order); these
// are replaced by the shares that the terms have in it.
inline double combine(const Form& form, std::span<double> part) {
  double work = 0;
  double beside = 0;
  double after = 0;
  for (std::size_t k = 0; k < part.size(); ++k) {
    const std::size_t term = form.terms[k];
    const bool is_work = terms[term].place == Place::work;
    (form.beside(term) ? beside : is_work ? work : after) += part[k];
  }
  if (form.adds()) return work + beside + after;
  const double q = overlaps[form.overlap].q;
  const double larger = std::max(work, beside);
  if (!(larger > 0)) return after;
  const double ratio = std::min(work, beside) / larger;
  const double power = raised(ratio, q);
  const double sum = 1 + power;
  const double root = sum > 1 ? std::pow(sum, 1 / q) : 1;
  // dR/dW with R = (W^q + B^q)^(1/q), and dR/dB.
  const double of_larger = root / sum;
  const double of_smaller = ratio > 0 ? power / ratio * root / sum : 0;
  const double visible_work = work < beside ? of_smaller : of_larger;
  const double visible_beside = work < beside ? of_larger : of_smaller;
  for (std::size_t k = 0; k < part.size(); ++k) {
    const std::size_t term = form.terms[k];
    if (form.beside(term))
      part[k] *= visible_beside;
    else if (terms[term].place == Place::work)
      part[k] *= visible_work;
  }
  return larger * root + after;
}

}  // namespace gpucast::model::scaling
