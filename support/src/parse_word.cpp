#include "gpucast/support/parse_word.h"

#include "gpucast/support/errors.h"

namespace gpucast::support {

void refuse_word(std::string_view option, std::string_view text, std::string_view choices) {
  throw InputError(std::string(option) + ": \"" + std::string(text) + "\" is none of " +
                   std::string(choices));
}

}  // namespace gpucast::support
