// Returns the message of an expression's exception; fails if it throws none of that type.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace gpucast::support {

template <class Error, class Call>
std::string refused(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

}  // namespace gpucast::support
