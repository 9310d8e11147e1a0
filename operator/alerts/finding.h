#ifndef MUSTER_OPERATOR_ALERTS_FINDING_H_
#define MUSTER_OPERATOR_ALERTS_FINDING_H_

#include <string>

namespace muster::control {

// The result of one look at one alert rule.
struct Finding {
  enum class Change { kNone, kFires, kResolves };
  Change change = Change::kNone;
  std::string sentence;  // the figures on which a change rests
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_FINDING_H_
