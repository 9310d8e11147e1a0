#ifndef MUSTER_BASE_VERSION_H_
#define MUSTER_BASE_VERSION_H_

namespace muster {

// The release this tree becomes; every program of one build reports the same.
inline constexpr char kVersion[] = "0.1.0-dev";

}  // namespace muster

#endif  // MUSTER_BASE_VERSION_H_
