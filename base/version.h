#ifndef MUSTER_BASE_VERSION_H_
#define MUSTER_BASE_VERSION_H_

namespace muster {

// The version of the next release from this tree, reported by every program of a build.
inline constexpr char kVersion[] = "0.1.0-dev";

}  // namespace muster

#endif  // MUSTER_BASE_VERSION_H_
