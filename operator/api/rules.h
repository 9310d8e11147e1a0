#ifndef MUSTER_OPERATOR_API_RULES_H_
#define MUSTER_OPERATOR_API_RULES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The message-level rules of training_job.proto as C++ predicates, so that they hold without an API
// server. Each says the same as the CEL text of its id; rules_test compares the two sets of ids.

// Nothing when the rule holds. When it is broken, what the values are (may be empty), to go in
// brackets after the rule's own sentence. Holds too when something it reads is missing: that is
// another error.
using RuleCheck = std::optional<std::string> (*)(const google::protobuf::Message& message);

// By rule id. The message is the one whose options declare the rule, after Default().
const std::map<std::string, RuleCheck>& RuleChecks();

// The command of the template's container named `worker`; empty without one.
std::vector<std::string> WorkerCommand(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_RULES_H_
