#ifndef MUSTER_BASE_TESTING_TEST_ITERATIONS_H_
#define MUSTER_BASE_TESTING_TEST_ITERATIONS_H_

#include <cstdlib>

// The effort of a test. MUSTER_FULL=1 (tools/test --full) requests the long form; the sanitizer
// configurations set MUSTER_SANITIZED=1, as each try costs several times more there.
namespace muster {

inline bool FullEffort() { return std::getenv("MUSTER_FULL") != nullptr; }

struct Tries {
  int sanitized;
  int usual;
  int full;
};

inline int TestIterations(const Tries& tries) {
  if (std::getenv("MUSTER_SANITIZED") != nullptr) {
    return FullEffort() ? tries.usual : tries.sanitized;
  }
  return FullEffort() ? tries.full : tries.usual;
}

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_TEST_ITERATIONS_H_
