#ifndef MUSTER_TESTS_BENCH_OR_DIE_H_
#define MUSTER_TESTS_BENCH_OR_DIE_H_

#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster {

// End the benchmark on an error, after printing the benchmark's name and the error.
inline void OkOrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  OkOrDie(value.status());
  return *std::move(value);
}

}  // namespace muster

#endif  // MUSTER_TESTS_BENCH_OR_DIE_H_
