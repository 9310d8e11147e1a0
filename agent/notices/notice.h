#ifndef MUSTER_AGENT_NOTICES_NOTICE_H_
#define MUSTER_AGENT_NOTICES_NOTICE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace muster::agent {

// The kinds of notices. A machine that is reclaimed goes for certain, one with a rebalance
// recommendation is likely to go, and maintenance stops or moves it.
inline constexpr char kReclaim[] = "Reclaim";
inline constexpr char kRebalance[] = "Rebalance";
inline constexpr char kMaintenance[] = "Maintenance";

// A cloud's announcement that it takes this machine away. A value.
struct Notice {
  std::string kind;
  std::string who;                     // "AWS", "Google", "Azure"
  std::optional<absl::Time> deadline;  // wall; absent if the cloud names none
  std::string text;                    // the cloud's own words, at most kMaxNoticeText bytes

  friend bool operator==(const Notice&, const Notice&) = default;
};

inline constexpr size_t kMaxNoticeText = 200;

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_NOTICE_H_
