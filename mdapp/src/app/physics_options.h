// What is simulated: options that the commands share, and what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "engine/device.h"
#include "gpucast/support/command_line.h"
#include "gpucast/support/parse_word.h"
#include "physics/integrator.h"
#include "physics/salt.h"
#include "physics/system.h"

namespace gpucast::mdapp {

struct Physics {
  Salt salt = nacl();
  Surroundings around{};
  IntegratorOptions integrator{};
  std::uint64_t seed = 1;
  bool temperature_given = false;  // by the user
};

enum class Precision { single, twice };

class PhysicsOptions {
 public:
  void declare_potential(CLI::App* command);  // salt, constants, boundary
  void declare_motion(CLI::App* command);     // integrator, time step, temperature, seed
  void declare_seed(CLI::App* command);

  // Throws InputError.
  Physics read() const;
  const std::string& constants() const { return constants_; }

 private:
  std::string salt_ = "NaCl";
  std::string constants_ = "codata";
  std::string boundary_ = "open";
  std::optional<double> cutoff_;
  std::optional<double> alpha_;
  std::string integrator_ = "verlet";
  IntegratorOptions motion_;
  CLI::Option* temperature_ = nullptr;
  std::string seed_ = "1";
};

// One line, where the boundary's forces are wrong for a melt.
void warn(const Physics& physics, std::ostream& err);

// The lattice of n ions with thermal velocities.
System start_of(const Physics& physics, int n);

// Where particles start: options of commands that work on one configuration.
class StartOptions {
 public:
  void declare(CLI::App* command);

  // With velocities: those of the file, or drawn. Throws InputError.
  System read(const Physics& physics) const;

 private:
  System lattice(const Physics& physics) const;

  std::string n_;
  std::string start_;
};

}  // namespace gpucast::mdapp

// The words of the program's own options.
namespace gpucast::schema {

template <>
inline constexpr Words<mdapp::KernelName, 2> words<mdapp::KernelName>{
    {{mdapp::KernelName::claret, "claret"}, {mdapp::KernelName::tuned, "tuned"}}};
template <>
inline constexpr Words<mdapp::IntegratorKind, 2> words<mdapp::IntegratorKind>{
    {{mdapp::IntegratorKind::verlet, "verlet"},
     {mdapp::IntegratorKind::nose_hoover, "nose-hoover"}}};
template <>
inline constexpr Words<mdapp::ConstantSet, 2> words<mdapp::ConstantSet>{
    {{mdapp::ConstantSet::codata, "codata"}, {mdapp::ConstantSet::claret, "claret"}}};
template <>
inline constexpr Words<mdapp::Precision, 2> words<mdapp::Precision>{
    {{mdapp::Precision::single, "float"}, {mdapp::Precision::twice, "double"}}};

}  // namespace gpucast::schema
