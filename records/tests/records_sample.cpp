// Prints a record of every kind, for tests of the readers.
#include <cstdio>
#include <exception>

#include "gpucast/records/record_file.h"
#include "sample_records.h"

int main(int argc, char** argv) {
  using namespace gpucast::records;
  try {
    RecordFile file(argc > 1 ? argv[1] : "-");
    for (const auto& record : sample::all())
      file.write(record);
    file.close();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "records_sample: %s\n", error.what());
    return gpucast::support::exit_status(error);
  }
  return 0;
}
