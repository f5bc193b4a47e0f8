// What every scaling term says of itself.
//
// A term is a struct without data in a file of its own under terms/, and a line in catalogue.h. It
// has
//
//     static constexpr TermInfo info;
//     static double shape(const Scale& step);        // seconds / coefficient, 0 or more
//     static bool offered(const Extent& measured);   // whether data can speak of the term
//
// A step takes the sum of its terms, each a coefficient (never negative) times a shape; work and
// what goes on beside it may overlap (form.h).
#pragma once

#include <string_view>

namespace gpucast::model::scaling {

// Which part of T = T_gpu + T_cpu + T_com a term is.
enum class Part { gpu, cpu, com };

// Where a term stands in a step that overlaps.
enum class Place {
  work,     // what the GPUs compute
  filling,  // the least time of GPUs that are not full
  beside,   // what may go on while they compute: exchange, the host's work
  after     // never hidden: latencies, synchronisation
};

struct TermInfo {
  std::string_view name;     // the word of tables and files
  std::string_view summary;  // one line
  Part part = Part::gpu;
  Place place = Place::work;
  bool grows = false;   // with the work
  bool faster = false;  // told from another term only where work grows faster than n
  double odds = 0;      // log odds that a program has the term, before anything was measured
};

}  // namespace gpucast::model::scaling
