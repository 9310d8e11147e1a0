#ifndef MUSTER_OPERATOR_CORE_TESTING_FAILURE_POLICY_CASES_H_
#define MUSTER_OPERATOR_CORE_TESTING_FAILURE_POLICY_CASES_H_

#include <string>
#include <vector>

#include "operator/core/state/failure_policy.h"

// The failure policy, case by case. The test runs these cases, and the tables of
// docs/failure-policy.md are generated from them.
namespace muster::control {

struct FailureCase {
  std::string what;   // a few words for the table
  std::string rules;  // failurePolicy.rules in YAML; empty: none
  FailureFacts facts;
  FailureClass kind;
  FailureAction action;
  std::string rule;  // the rule that decided
};

// Cases that the default rules decide.
std::vector<FailureCase> DefaultCases();
// Cases that rules of the spec decide.
std::vector<FailureCase> RuleCases();

// Markdown tables: the classes with their default actions, and a list of cases.
std::string ClassTable();
std::string CaseTable(const std::vector<FailureCase>& cases);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_FAILURE_POLICY_CASES_H_
