// Several instances of a program on one GPU at once: each uses the time that others leave idle.
//
// A step of an instance that has the GPU to itself takes T seconds; for D = b T of them the GPU (on
// path `host`: the cores) is at work, for the rest Z = T - D it waits for the program: host code,
// launches, files, messages. With k instances each takes T_k.
//
// The GPU serves one instance at a time (time slices between processes: their kernels do not run
// together), so that its work alone takes k D; and no instance is faster than alone. On the other
// hand, at worst an instance waits in full for each of the k - 1 others whenever it needs the GPU.
// These are the bounds of a closed network of one queue and a delay (Denning and Buzen, ACM
// Computing Surveys 10 (1978) 225, section 4):
//
//     max(Z + D, k D)  <=  T_k  <=  Z + k D
//
// Both, and what lies between, are one form,
//
//     T_k = ( T^q + (k D_k)^q - D^q )^(1/q)
//
// which gives T_1 = T for every q, the upper bound for q = 1 and the lower one for q -> infinity:
// 1/q is the share of waiting, 0 where instances fall into step with one another, 1 where they
// always meet. Random service (exact mean-value analysis) lies near q = 2.5.
//
// Sharing takes time itself. After a slice of another instance caches are cold: if slices come in
// random order, the share 1 - 1/k follows another instance's, and lengthens the work by s.
// Switching the GPU to another process empties it and exchanges its state, which takes a time c
// however short the work was: 110 to 130 us a step of gpucast-mdapp on an H200, for 512 particles
// as for 32,768. And a step may take longer by h as soon as there are other instances, whatever
// they do (requests of several processes pass through NVIDIA's Multi-Process Service):
//
//     D_k = D (1 + s (1 - 1/k)) + c,    T -> T + h    for k >= 2
//
// (linear in between, for k that are means). Dividing by T leaves a factor of five numbers: b, s,
// 1/q, c/T and h/T. For k -> infinity all of the GPU is used, and the aggregate speed k / T_k tends
// to 1 / (D (1 + s) + c).
#pragma once

#include <algorithm>
#include <cmath>

namespace gpucast::model {

struct Sharing {
  double busy = 0;       // b: share of a step alone in which the GPU is at work; 0 to 1
  double switching = 0;  // s: the lengthening by cold caches, relative to the work
  double waiting = 0.4;  // 1/q: 0 (none is avoidable) to 1 (for every other instance in full)
  double turning = 0;    // c/T: the GPU's time for switches per step, whatever the work
  // H/T: the lengthening of a step by the presence of others, whatever they do.
  double crowding = 0;

  // T_k / T for k instances at once; k is 1 or more.
  double slowdown(double instances) const {
    // Sharper forms equal the larger of the two to five digits.
    const double q = 1 / std::max(waiting, least_waiting);
    const double company = std::min(1.0, instances - 1);
    const double own_work = busy * (1 + switching * (1 - 1 / instances)) + turning * company;
    const double work = instances * own_work;
    const double alone = 1 + crowding * company;
    const double larger = std::max(alone, work);
    const auto power = [&](double seconds) { return std::pow(seconds / larger, q); };
    // Never below 1: work is at least busy, and T at least D.
    return larger * std::pow(power(alone) + power(work) - power(busy), 1 / q);
  }

  // The rate of steps of all instances together, relative to one instance alone.
  double speedup(double instances) const { return instances / slowdown(instances); }

  static constexpr double least_waiting = 1.0 / 64;
};

}  // namespace gpucast::model
