#ifndef MUSTER_AGENT_CORE_COPIES_LAYOUT_H_
#define MUSTER_AGENT_CORE_COPIES_LAYOUT_H_

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::agent {

// The copies of a rank that are kept beside those of its own memory, as replicas and on disk: while
// one is written somewhere, all have the one before. A copy takes the place of an earlier one of
// its name.
inline constexpr size_t kCopiesOfARank = 2;

// Returns the folder of one rank's copies below a worker's folder of copies, or of replicas.
inline std::string CopiesOfRank(const std::string& folder, int local_rank) {
  return absl::StrCat(folder, "/rank-", local_rank);
}

// Returns the folder, below an agent's own, of the replicas of that worker's copies.
inline std::string ReplicasOfWorker(const std::string& folder, int index) {
  return absl::StrCat(folder, "/", "replicas-", index);
}

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_COPIES_LAYOUT_H_
