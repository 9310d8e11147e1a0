// Tests every case that docs/failure-policy.md shows, and the document itself. Under `bazel run`,
// as tools/generate calls it, this test writes the document's tables.
#include "operator/core/state/failure_policy.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/generated_document.h"
#include "base/yaml/yaml_adapter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/codec.h"
#include "operator/api/schema.h"
#include "operator/api/validation.h"
#include "operator/core/testing/failure_policy_cases.h"

namespace muster::control {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

v1alpha1::FailurePolicySpec PolicyOf(const std::string& rules) {
  v1alpha1::FailurePolicySpec policy;
  if (rules.empty()) return policy;
  const YamlDocument document = ParseYaml(absl::StrCat("rules: ", rules));
  EXPECT_TRUE(document.readable) << rules;
  EXPECT_THAT(DecodeMessage(document.json, "", UnknownFields::kReport, policy), IsEmpty()) << rules;
  EXPECT_THAT(Validate(policy, "", {}), IsEmpty()) << rules;
  return policy;
}

std::vector<std::string> ActionsOfTheSchema() {
  const auto* field = v1alpha1::FailureRule::descriptor()->FindFieldByName("action");
  const auto& values = SchemaOf(*field).values();
  return {values.begin(), values.end()};
}

std::vector<FailureCase> AllCases() {
  std::vector<FailureCase> all = DefaultCases();
  for (FailureCase& c : RuleCases()) all.push_back(std::move(c));
  return all;
}

TEST(FailurePolicyTest, EveryCaseGetsItsClassActionAndRule) {
  for (const FailureCase& c : AllCases()) {
    SCOPED_TRACE(absl::StrCat(c.what, " ", c.rules));
    const FailureVerdict verdict = EvaluateFailure(PolicyOf(c.rules), c.facts);
    EXPECT_EQ(Name(verdict.kind), Name(c.kind));
    EXPECT_EQ(Name(verdict.action), Name(c.action));
    EXPECT_EQ(verdict.rule, c.rule);
    EXPECT_EQ(verdict.counted(), c.action != FailureAction::kIgnore);
  }
}

TEST(FailurePolicyTest, TheCasesShowEveryClassAndEveryAction) {
  std::set<FailureClass> kinds;
  std::set<FailureAction> actions;
  for (const FailureCase& c : AllCases()) {
    kinds.insert(c.kind);
    actions.insert(c.action);
  }
  for (FailureClass kind : AllFailureClasses()) EXPECT_THAT(kinds, Contains(kind)) << Name(kind);
  std::vector<std::string> names;
  for (FailureAction action : actions) names.emplace_back(Name(action));
  EXPECT_THAT(names, UnorderedElementsAreArray(ActionsOfTheSchema()));
}

TEST(FailurePolicyTest, EveryActionOfTheSchemaIsKnown) {
  for (const std::string& name : ActionsOfTheSchema()) {
    const std::optional<FailureAction> action = FindAction(name);
    ASSERT_TRUE(action.has_value()) << name;
    EXPECT_EQ(Name(*action), name);
  }
  EXPECT_EQ(FindAction("Restart"), std::nullopt);
}

TEST(FailurePolicyTest, OnlyIgnoreIsNotCountedAndOnlyFailJobEndsTheJob) {
  for (const std::string& name : ActionsOfTheSchema()) {
    const FailureAction action = FindAction(name).value_or(FailureAction::kRestartWorker);
    EXPECT_EQ(IsCounted(action), name != "Ignore") << name;
    EXPECT_EQ(EndsJob(action), name == "FailJob") << name;
  }
}

TEST(FailurePolicyTest, OnlyTheEndOfALogIsSearched) {
  v1alpha1::FailurePolicySpec policy = PolicyOf("[{action: Ignore, logPattern: needle}]");
  FailureFacts facts;
  facts.ends = {{"worker", 1, 0, "Exited"}};
  facts.log = "needle" + std::string(8 << 10, 'x');
  EXPECT_EQ(EvaluateFailure(policy, facts).rule, "default");
  facts.log = std::string(8 << 10, 'x') + "needle";
  EXPECT_EQ(EvaluateFailure(policy, facts).rule, "rules[0]");
}

TEST(FailurePolicyTest, APatternThatCannotBeReadMatchesNothing) {
  v1alpha1::FailurePolicySpec policy;
  policy.add_rules()->set_log_pattern("(");
  policy.mutable_rules(0)->set_action("FailJob");
  FailureFacts facts;
  facts.ends = {{"worker", 1, 0, "Exited"}};
  facts.log = "(";
  EXPECT_EQ(EvaluateFailure(policy, facts).rule, "default");
}

// The pattern is exponential on backtracking engines; RE2 is linear.
TEST(FailurePolicyTest, AnEvilPatternIsHarmless) {
  v1alpha1::FailurePolicySpec policy = PolicyOf("[{action: Ignore, logPattern: \"(a*)*(a*)*b$\"}]");
  FailureFacts facts;
  facts.ends = {{"worker", 1, 0, "Exited"}};
  facts.log = std::string(8 << 10, 'a');
  EXPECT_EQ(EvaluateFailure(policy, facts).rule, "default");
}

TEST(FailurePolicyTest, TheDocumentsTablesAreTheCases) {
  CheckDocument("docs/failure-policy.md", {{"classes", ClassTable()},
                                           {"default cases", CaseTable(DefaultCases())},
                                           {"rule cases", CaseTable(RuleCases())}});
}

}  // namespace
}  // namespace muster::control
