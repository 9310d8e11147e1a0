#ifndef MUSTER_TRAINER_COMMIT_VERSION_H_
#define MUSTER_TRAINER_COMMIT_VERSION_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// The comparison and the text of versions. Pure.
namespace muster::trainer {

inline bool Same(const v1alpha1::Version& a, const v1alpha1::Version& b) {
  return a.step() == b.step() && a.attempt() == b.attempt();
}

// Formats a version for messages, e.g. "step 7 (attempt 2)".
inline std::string ToText(const v1alpha1::Version& version) {
  return absl::StrCat("step ", version.step(), " (attempt ", version.attempt(), ")");
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_VERSION_H_
