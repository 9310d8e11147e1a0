#ifndef MUSTER_OPERATOR_NODES_UNHEALTHY_TAINT_H_
#define MUSTER_OPERATOR_NODES_UNHEALTHY_TAINT_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

// Policy: a node with a broken part is tainted. The taint is removed once the node's health has
// been good for ten minutes after the first fault, twice as long after each further fault, at most
// a day. After a week of good health a new fault counts as the first again. Pure.
namespace muster::control {

// The taint has the effect NoSchedule and the condition's reason as its value. The annotation keeps
// the node's fault history.
inline constexpr char kUnhealthyTaint[] = "muster.dev/unhealthy";
inline constexpr char kHealthAnnotation[] = "muster.dev/health";

struct HealthPast {
  int faults = 0;  // in a row, without a good week in between
  // The wall time, in whole seconds, since which the health has been good after the last fault;
  // absent until it is good, and again if it becomes unknown while the node is tainted.
  std::optional<absl::Time> good_since;

  friend bool operator==(const HealthPast&, const HealthPast&) = default;
};

// Convert to and from the annotation. Text that is not such JSON gives an empty past.
std::string ToText(const HealthPast& past);
HealthPast ParseHealthPast(const std::string& text);

struct TaintChoice {
  bool tainted = false;
  HealthPast past;

  friend bool operator==(const TaintChoice&, const TaintChoice&) = default;
};

// Returns how long the health must be good before the taint is removed.
absl::Duration WaitAfterFaults(int faults);

// `status` is the condition's: True, False, or anything else, which keeps a taint and restarts its
// good time. `tainted`: the node has the taint now. `now` is a wall time.
TaintChoice ChooseTaint(const std::string& status, bool tainted, const HealthPast& past,
                        absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_UNHEALTHY_TAINT_H_
