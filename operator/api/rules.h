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
// server. Each one is equivalent to the CEL text of its id; rules_test compares the two sets of
// ids.

// A predicate returns nullopt if the rule holds, or if a value that it reads is missing, which is
// an error of its own. Otherwise it returns the offending values (may be empty), which are put in
// brackets after the rule's own sentence.
using RuleCheck = std::optional<std::string> (*)(const google::protobuf::Message& message);

// Returns the predicates by rule id. Each takes the message whose options declare the rule, after
// Default().
const std::map<std::string, RuleCheck>& RuleChecks();

// Returns the command of the template's container named `worker`; empty if the container is missing
// or has no command.
std::vector<std::string> WorkerCommand(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_API_RULES_H_
