// The arguments of a scaling term: a step of a program that is known only by its step times.
//
// A program of domain decomposition cuts its n elements into N domains of n / N each. In three
// dimensions a domain has a surface of (n / N)^(2/3) elements and edges of (n / N)^(1/3); a cubic
// arrangement of N domains has (N - N^(2/3)) inner faces a dimension, so that of a domain's faces
// the share 1 - N^(-1/3) is cut on average: none with one GPU, half with eight, all with many.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

namespace gpucast::model::scaling {

// How the work of a program grows with its size n.
struct Growth {
  std::string_view name;
  double power;  // 0: n log2 n
  double odds;   // prior log odds
  // If GPUs may not be full: times below the knee contain no information about it.
  double odds_beyond;
  double freedom = 0;  // standard deviation of the power, if it is fitted
};

// None of some thirty programs with published tables (fit/scaling/priors.h) has work that grows as
// the cube of what its table calls the size: beyond a knee that is as rare as `whole`.
inline constexpr std::array growths{
    Growth{"n", 1, 0, 0},           Growth{"n^(4/3)", 4.0 / 3, -5, -2},
    Growth{"n^(3/2)", 1.5, -5, -2}, Growth{"n^2", 2, -5, -2},
    Growth{"n^3", 3, -5, -3.4},     Growth{"n log n", 0, -5, -2},
    Growth{"n^p", 2, -5, -2, .5},
};

struct Scale {
  double n = 1;      // size: particles, cells, basis functions, samples of a batch
  double gpus = 1;   // N
  double nodes = 0;  // 0: not known
  const Growth* growth = growths.data();
  // A collective among the N GPUs, as the network was measured: s of the smallest, and s per byte
  // of the largest; 0: not measured.
  double latency = 0;
  double per_byte = 0;

  // Work of the whole step in arbitrary units.
  double work() const {
    return growth->power > 0 ? std::pow(n, growth->power) : n * std::log2(std::max(n, 2.0));
  }
  double share() const { return n / gpus; }
  double surface() const { return std::pow(share(), 2.0 / 3); }
  double edge() const { return std::cbrt(share()); }
  double cut() const { return 1 - 1 / std::cbrt(gpus); }  // share of a domain's faces
};

// The extent of the measurements, which decides which terms they can distinguish.
struct Extent {
  std::size_t sizes = 0;             // distinct n
  std::size_t sizes_of_a_count = 0;  // the most distinct n that one N was measured with
  std::size_t counts = 0;            // distinct N
  double least_gpus = 1;
  double largest_gpus = 1;
  bool shares_differ = false;  // whether n / N varies by more than a factor of 1.3
  bool several_nodes = false;  // whether node counts are known and differ
  bool network = false;        // whether collectives were measured
  bool bytes_known = false;    // and the bytes of a step are stated
};

// The catalogue of scaling terms, which make up the steps of a program that is known only by its
// step times. The order is that of tables; a form names its terms by their index here.
//
// A step takes the sum of its terms, each a non-negative coefficient times a shape; work and
// concurrent activities may overlap (form.h).

// The part of T = T_gpu + T_cpu + T_com that a term belongs to.
enum class Part { gpu, cpu, com };

// The role of a term in a step that overlaps.
enum class Place {
  work,     // computation on the GPUs
  filling,  // the minimum time of GPUs that are not full
  beside,   // may run while they compute: exchange, the host's work
  after     // never hidden: latencies, synchronisation
};

struct Term {
  std::string_view name;     // the word of tables and files
  std::string_view summary;  // one line
  Part part = Part::gpu;
  Place place = Place::work;
  double odds = 0;                          // prior log odds
  double (*shape)(const Scale&) = nullptr;  // seconds / coefficient, 0 or more
  // Whether data can inform it.
  bool (*offered)(const Extent&) = [](const Extent&) { return true; };
  bool grows = false;   // with the work
  bool faster = false;  // distinguishable from another term only if work grows faster than n
};

inline constexpr bool (*with_one_or_two_gpus)(const Extent&) = [](const Extent& measured) {
  return measured.least_gpus <= 2;
};
inline constexpr bool (*with_differing_shares)(const Extent&) = [](const Extent& measured) {
  return measured.counts > 1 && measured.shares_differ;
};
inline constexpr bool (*with_several_nodes)(const Extent&) = [](const Extent& measured) {
  return measured.several_nodes;
};

// clang-format off
inline constexpr std::array terms{
    // f(n) / N: what a step computes, shared out evenly. f is n for interactions of short range,
    // stencils and training by batches; n log n with Fourier transforms, n^(4/3) where a sum is cut
    // off by accuracy, n^(3/2) for Ewald sums, n^2 for all pairs, n^3 for dense linear algebra.
    Term{.name = "work", .summary = "the program's work, shared out among the GPUs",
         .part = Part::gpu, .place = Place::work, .odds = 0,
         .shape = [](const Scale& s) { return s.work() / s.gpus; },
         .grows = true},
    // f(n) / max(1, N - 1): one of several GPUs does something else, as GROMACS has one for the
    // long-range part (manual, "Separate PME ranks"). The gain from 2 to 3 GPUs shows it first.
    Term{.name = "dedicated", .summary = "the program's work, shared out among all GPUs but one",
         .part = Part::gpu, .place = Place::work, .odds = -3,
         .shape = [](const Scale& s) { return s.work() / std::max(1.0, s.gpus - 1); },
         .offered = [](const Extent& m) { return m.counts > 2 && m.largest_gpus > 2; },
         .grows = true},
    // f(n): every GPU does all of it, or one does and the others wait. None of some thirty programs
    // with published tables is of this kind: 1 to 31 by Laplace's rule of succession.
    Term{.name = "whole", .summary = "the program's work, not shared out at all",
         .part = Part::gpu, .place = Place::work, .odds = -3.4,
         .shape = [](const Scale& s) { return s.work(); },
         .offered = with_differing_shares,
         .grows = true},
    // f(n / N): domains are solved by themselves, or elements pair up within them. Where work grows
    // as n, this is `work`. As rare as `whole`.
    Term{.name = "local", .summary = "the program's work on each GPU's share by itself",
         .part = Part::gpu, .place = Place::work, .odds = -3.4,
         .shape = [](const Scale& s) { return Scale{s.share(), s.gpus, s.nodes, s.growth}.work(); },
         .offered = [](const Extent& m) { return m.sizes > 1 && with_differing_shares(m); },
         .grows = true, .faster = true},
    // 1: launches, synchronisation, and whatever else a step does once, however large it is.
    Term{.name = "start", .summary = "a time that every step pays",
         .part = Part::cpu, .place = Place::after, .odds = 0.6,
         .shape = [](const Scale&) { return 1.0; }},
    // 1: below a half-performance size (Hockney's n_1/2) not all multiprocessors are busy, and a
    // step takes as long as one element. Neighbour lists with 10^4 atoms a GPU show it.
    Term{.name = "filling", .summary = "the least time of GPUs that are not full",
         .part = Part::gpu, .place = Place::filling, .odds = -1.0,
         .shape = [](const Scale&) { return 1.0; }},
    // f(n) / n: with all pairs, f = n^2, one thread goes through all n partners whatever the others
    // do; steps grow as n until the GPU is full. Where work grows as n, this is `filling`.
    Term{.name = "thread", .summary = "one element's work, where GPUs are not full",
         .part = Part::gpu, .place = Place::filling, .odds = -1.0,
         .shape = [](const Scale& s) { return s.work() / s.n; },
         .offered = [](const Extent& m) { return m.sizes > 1; },
         .grows = true, .faster = true},
    // 1 / N: R processes drive N devices, each process pays for its launches, and those of one
    // device wait for one another: R / N times the launches of one.
    Term{.name = "shared", .summary = "fixed work that the GPUs share out",
         .part = Part::gpu, .place = Place::work, .odds = -2,
         .shape = [](const Scale& s) { return 1 / s.gpus; },
         .offered = [](const Extent& m) { return m.sizes > 1 && m.counts > 1; }},
    // f(n) / N log2 N: all wait for the GPU that has most to do, and the expected largest of N like
    // deviations grows about as log N.
    Term{.name = "imbalance", .summary = "the slowest of many GPUs, which all others wait for",
         .part = Part::gpu, .place = Place::work, .odds = -1.2,
         .shape = [](const Scale& s) { return s.work() / s.gpus * std::log2(s.gpus); },
         .grows = true},
    // f(n) / N (1 - N^(-1/3)): packing, lists and passes over ghost elements that are sized by the
    // share, wherever a face is cut; unequal domains.
    Term{.name = "uneven", .summary = "work at the domains' cut faces, in proportion to the share",
         .part = Part::gpu, .place = Place::work, .odds = -1.2,
         .shape = [](const Scale& s) { return s.work() / s.gpus * s.cut(); },
         .grows = true},
    // f(n) / N (N^(1/4) - 1): as imbalance, where deviations have a heavy tail (noise of the
    // system, contention): their largest grows as a power of N rather than as its logarithm.
    Term{.name = "jitter", .summary = "waiting for the slowest of very many GPUs",
         .part = Part::gpu, .place = Place::work, .odds = -2,
         .shape = [](const Scale& s) {
           return s.work() / s.gpus * (std::sqrt(std::sqrt(s.gpus)) - 1);
         },
         .grows = true},
    // (n / N)^(2/3) (1 - N^(-1/3)): each GPU gets the elements about its domain from neighbours, as
    // many as the domain has surface (Plimpton 1995), through the faces that are cut.
    Term{.name = "halo", .summary = "surfaces of domains, exchanged between neighbours",
         .part = Part::com, .place = Place::beside, .odds = -2.0,
         .shape = [](const Scale& s) { return s.surface() * s.cut(); }},
    // [N > 1] (n / N)^(2/3): as halo, but with every face exchanged as soon as there are several
    // GPUs, as programs do that treat periodic images like neighbours.
    Term{.name = "shell", .summary = "surfaces of domains, all faces cut as soon as there are two",
         .part = Part::com, .place = Place::beside, .odds = 0.3,
         .shape = [](const Scale& s) { return s.gpus > 1 ? s.surface() : 0; },
         .offered = with_one_or_two_gpus},
    // (n / N)^(1/3) (1 - N^(-1/3)): halos that are thick against their domain (the shell of ghosts
    // of a small domain), surfaces of two-dimensional domains.
    Term{.name = "edges", .summary = "edges of domains, or surfaces in two dimensions",
         .part = Part::com, .place = Place::beside, .odds = -1.2,
         .shape = [](const Scale& s) { return s.edge() * s.cut(); }},
    // (n / N)^(2/3) log2 N: surfaces that go through a network whose stages grow as log2 N, or
    // along a tree (multigrid: a halo a level, and as many levels as the log of the domains).
    Term{.name = "stages", .summary = "surfaces of domains, exchanged in stages",
         .part = Part::com, .place = Place::beside, .odds = -1.2,
         .shape = [](const Scale& s) { return s.surface() * std::log2(s.gpus); }},
    // n (N - 1) / N^2: each GPU sends every other one its part of what it holds, as transposes of
    // Fourier transforms, joins of tables and mixtures of experts do (all-to-all in NCCL's
    // PERFORMANCE.md). With more GPUs than two it can hardly be told from work.
    Term{.name = "alltoall", .summary = "shares sent from every GPU to every other",
         .part = Part::com, .place = Place::beside, .odds = 0.1,
         .shape = [](const Scale& s) { return s.share() * (s.gpus - 1) / s.gpus; },
         .offered = with_one_or_two_gpus},
    // 1 - N^(-1/3): the latency of a message through each cut face; with few GPUs a domain has few
    // neighbours.
    Term{.name = "neighbours", .summary = "messages to neighbours, few while the GPUs are few",
         .part = Part::com, .place = Place::after, .odds = -0.7,
         .shape = [](const Scale& s) { return s.cut(); }},
    // [N > 1]: another way through the program as soon as there is anything to exchange.
    Term{.name = "several", .summary = "what a step pays as soon as there are several GPUs",
         .part = Part::com, .place = Place::after, .odds = 0.1,
         .shape = [](const Scale& s) { return s.gpus > 1 ? 1.0 : 0.0; },
         .offered = with_one_or_two_gpus},
    // log2 N: all-reduce of a few numbers (energies, dot products, the time step) along a tree.
    Term{.name = "reduction", .summary = "sums over all GPUs along a tree",
         .part = Part::com, .place = Place::after, .odds = 0.1,
         .shape = [](const Scale& s) { return std::log2(s.gpus); }},
    // N - 1: the steps of a ring of N GPUs, the messages of an all-to-all (NCCL's PERFORMANCE.md).
    Term{.name = "ring", .summary = "messages that grow with the GPUs in number",
         .part = Part::com, .place = Place::after, .odds = -2.5,
         .shape = [](const Scale& s) { return s.gpus - 1; }},
    // sqrt(N) - 1: in a three-dimensional Fourier transform over pencils each GPU sends to about
    // sqrt(N) others (LAMMPS, Developer_par_long).
    Term{.name = "transpose", .summary = "transposes of a Fourier transform, latency",
         .part = Part::com, .place = Place::beside, .odds = -2,
         .shape = [](const Scale& s) { return std::sqrt(s.gpus) - 1; }},
    // [nodes > 1]: messages between nodes take longer than those within one (two pairs of latency
    // and bandwidth: NCCL's PERFORMANCE.md), and every step waits for them.
    Term{.name = "crossing", .summary = "what a step pays as soon as there are several nodes",
         .part = Part::com, .place = Place::after, .odds = -1.5,
         .shape = [](const Scale& s) { return s.nodes > 1 ? 1.0 : 0.0; },
         .offered = with_several_nodes},
    // (n / nodes)^(2/3) (1 - nodes^(-1/3)): the domains of a node's GPUs lie side by side; only the
    // elements about all of them go through the network, on the share of the faces that is cut.
    Term{.name = "network", .summary = "surfaces of nodes' domains, through the network",
         .part = Part::com, .place = Place::beside, .odds = -1.5,
         .shape = [](const Scale& s) {
           return s.nodes > 1 ? std::pow(s.n / s.nodes, 2.0 / 3) * (1 - 1 / std::cbrt(s.nodes)) : 0;
         },
         .offered = with_several_nodes},
    // n: what one process does for all elements (staging, packing, output). With few sizes it is
    // hard to tell from others and ruins extrapolation, so it needs evidence (fit/scaling/priors.h).
    Term{.name = "host", .summary = "the host's work on all elements, not shared out",
         .part = Part::cpu, .place = Place::beside, .odds = -1.5,
         .shape = [](const Scale& s) { return s.n; },
         .offered = with_differing_shares},
    // n (N - 1) / N: replicated data (Plimpton 1995), and programs that copy positions through one
    // device: every GPU gets what the others have (all-gather in NCCL's PERFORMANCE.md).
    Term{.name = "gather", .summary = "all elements sent to every GPU",
         .part = Part::com, .place = Place::beside, .odds = -2.0,
         .shape = [](const Scale& s) { return s.n * (s.gpus - 1) / s.gpus; },
         .offered = with_differing_shares},
    // B t(N): a collective of B bytes whatever N, which the network was measured to take t(N)
    // seconds a byte for, at the N of a step: the all-reduce of data-parallel training.
    Term{.name = "collective", .summary = "bytes exchanged as fast as the network was measured to",
         .part = Part::com, .place = Place::beside, .odds = 1,
         .shape = [](const Scale& s) { return s.per_byte; },
         .offered = [](const Extent& m) { return m.network; }},
    // t_0(N): the measured time of the smallest collective, once or several times a step.
    Term{.name = "rounds", .summary = "collectives of hardly a byte, as slow as they were measured",
         .part = Part::com, .place = Place::after, .odds = 0,
         .shape = [](const Scale& s) { return s.latency; },
         .offered = [](const Extent& m) { return m.network; }},
};
// clang-format on

constexpr std::optional<std::size_t> term_named(std::string_view name) {
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (terms[i].name == name) return i;
  return std::nullopt;
}

}  // namespace gpucast::model::scaling
