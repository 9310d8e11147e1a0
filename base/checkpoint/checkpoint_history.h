#ifndef MUSTER_BASE_CHECKPOINT_CHECKPOINT_HISTORY_H_
#define MUSTER_BASE_CHECKPOINT_CHECKPOINT_HISTORY_H_

#include <cstddef>
#include <string_view>

namespace muster {

// A history is one run from its initial weights on; its id is 16 hexadecimal digits. Old
// checkpoints, which name no history, count as those of this one.
inline constexpr char kUnnamedHistory[] = "0000000000000000";

inline constexpr size_t kHistoryDigits = 16;

inline bool IsHistoryId(std::string_view text) {
  return text.size() == kHistoryDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

inline std::string_view HistoryName(std::string_view history) {
  return history.empty() ? kUnnamedHistory : history;
}

}  // namespace muster

#endif  // MUSTER_BASE_CHECKPOINT_CHECKPOINT_HISTORY_H_
