#ifndef MUSTER_OPERATOR_CORE_TESTING_FAILURE_POLICY_CASES_H_
#define MUSTER_OPERATOR_CORE_TESTING_FAILURE_POLICY_CASES_H_

#include <string>
#include <vector>

#include "operator/core/failure_policy.h"

// What the failure policy does, case by case. The test runs them, and docs/failure-policy.md's
// tables are written from them.
namespace muster::control {

struct FailureCase {
  std::string what;   // in a few words, for the table
  std::string rules;  // failurePolicy.rules in YAML; empty: none
  FailureFacts facts;
  FailureClass kind;
  FailureAction action;
  std::string rule;  // that decided
};

// Judged by the default rules.
std::vector<FailureCase> DefaultCases();
// Judged by rules of the spec.
std::vector<FailureCase> RuleCases();

// Markdown: the classes with their default actions, and the two lists of cases.
std::string ClassTable();
std::string CaseTable(const std::vector<FailureCase>& cases);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_FAILURE_POLICY_CASES_H_
