#ifndef MUSTER_BASE_RANDOM_NAME_H_
#define MUSTER_BASE_RANDOM_NAME_H_

#include <string>

namespace muster {

// Returns 16 hexadecimal digits that no other call, of any process on any machine, is likely to
// return. Thread-safe. No secret: it may be guessed.
std::string RandomName();

}  // namespace muster

#endif  // MUSTER_BASE_RANDOM_NAME_H_
