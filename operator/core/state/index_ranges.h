#ifndef MUSTER_OPERATOR_CORE_STATE_INDEX_RANGES_H_
#define MUSTER_OPERATOR_CORE_STATE_INDEX_RANGES_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::control {

// Formats worker indices as the status stores them: "0-2,5" for 0, 1, 2 and 5; "" for none.
std::string FormatIndices(const std::set<int>& indices);

// Parses such a text. Skips indices that are not below `limit`, and parts that are no range.
std::set<int> ParseIndices(absl::string_view text, int limit);

// Returns "worker 5" or "workers 0-2,5", for sentences.
std::string NameWorkers(const std::set<int>& indices);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_INDEX_RANGES_H_
