#ifndef MUSTER_OPERATOR_NODES_UNHEALTHY_TAINT_H_
#define MUSTER_OPERATOR_NODES_UNHEALTHY_TAINT_H_

#include <optional>
#include <string>

#include "absl/time/time.h"

// Policy: a node with a broken part has a taint, and loses it once its condition has been good for
// a while: ten minutes after the first fault, twice as long after each further one, a day at most.
// A node whose condition has been good for a week begins anew. Pure.
namespace muster::control {

// The taint, with the effect NoSchedule and the condition's reason as its value, and the annotation
// in which the node's past is kept.
inline constexpr char kUnhealthyTaint[] = "muster.dev/unhealthy";
inline constexpr char kHealthAnnotation[] = "muster.dev/health";

struct HealthPast {
  int faults = 0;  // one after the other
  // Wall, in whole seconds: the time from which on the condition was good after the last fault;
  // absent if it was not seen to be, or not for long enough and nobody could tell since.
  std::optional<absl::Time> good_since;

  friend bool operator==(const HealthPast&, const HealthPast&) = default;
};

// Convert to and from the annotation. A text that is no such JSON is an empty past.
std::string ToText(const HealthPast& past);
HealthPast ParseHealthPast(const std::string& text);

struct TaintChoice {
  bool tainted = false;
  HealthPast past;

  friend bool operator==(const TaintChoice&, const TaintChoice&) = default;
};

// Returns how long the condition must be good after so many faults.
absl::Duration WaitAfterFaults(int faults);

// `status` is that of the condition: True, False or anything else, with which a taint stays and its
// good time begins anew. `tainted`: the node has the taint now. `now` is a wall time.
TaintChoice ChooseTaint(const std::string& status, bool tainted, const HealthPast& past,
                        absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_UNHEALTHY_TAINT_H_
