#ifndef MUSTER_BASE_TESTING_TEST_ITERATIONS_H_
#define MUSTER_BASE_TESTING_TEST_ITERATIONS_H_

#include <cstdlib>

// How much a test tries. MUSTER_FULL=1 (tools/test --full) asks for its long form; the sanitizer
// configurations set MUSTER_SANITIZED=1, as each try is several times dearer there.
namespace muster {

inline bool FullEffort() { return std::getenv("MUSTER_FULL") != nullptr; }

struct Tries {
  int sanitized;
  int usual;
  int full;
};

inline int HowMany(const Tries& tries) {
  if (std::getenv("MUSTER_SANITIZED") != nullptr) {
    return FullEffort() ? tries.usual : tries.sanitized;
  }
  return FullEffort() ? tries.full : tries.usual;
}

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_TEST_ITERATIONS_H_
