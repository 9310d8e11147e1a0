// Helm upgrades the operator and rolls it back while a job trains: no step is lost or made twice.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kName[] = "upgraded";
// With it the weights after a step do not depend on the number of steps that were to come.
constexpr char kConstantRate[] = "    optimizer: {schedule: constant}\n";

class UpgradeTest : public testing::Test {
 protected:
  void TearDown() override {
    at_.AwaitOperator();
    at_.Kubectl("delete trainingjobs --all --timeout=120s");
  }

  // Returns once the new leader has reported steps of the job.
  void Helm(const std::string& words) {
    at_.ReplaceOperator(words);
    const int64_t reached = StepOf(at_.Job(kName));
    at_.AwaitJob(kName, [&](const Json& job) { return StepOf(job) > reached; });
  }
  std::string Log() {
    return at_.Shell("kubectl logs --namespace=muster-system deployment/muster-operator");
  }
  static int64_t StepOf(const Json& job) { return NumberAt(job, {"status", "progress", "step"}); }

  InstalledOperator& at_ = InstalledOperator::Get();
};

TEST_F(UpgradeTest, AJobTrainsThroughAnUpgradeAndItsRollbackAndLosesNoStep) {
  at_.Apply({.name = kName, .steps = 1'000'000, .trainer = kConstantRate});
  at_.AwaitSaved(kName, 10);
  Helm(
      "upgrade muster charts/muster --namespace=muster-system --reset-then-reuse-values"
      " --set=logFormat=json");
  EXPECT_THAT(Log(), HasSubstr("\"message\":"));
  Helm("rollback muster --namespace=muster-system");
  EXPECT_THAT(Log(), AllOf(Not(HasSubstr("\"message\":")), HasSubstr("operator")));

  const Json trained = at_.Job(kName);
  EXPECT_EQ(NumberAt(trained, {"status", "round"}), 1) << "no round was broken";
  EXPECT_EQ(trained["status"]["incarnations"], Json({1, 1, 1}));
  EXPECT_EQ(kube::Find(trained, {"status", "failures", "latest"}), nullptr);
  // A rank joins once for each time that it begins to train.
  EXPECT_EQ(at_.Kubectl("logs upgraded-0-1 | grep -c 'joined round='"), "1\n");

  at_.Kubectl("patch trainingjob/upgraded --type=merge --patch='{\"spec\":{\"suspend\":true}}'");
  at_.AwaitCondition(kName, "Suspended", "True", "WorkersStopped");
  const Json stopped = at_.Job(kName);
  const auto steps = static_cast<int>(StepOf(stopped));
  EXPECT_EQ(NumberAt(stopped, {"status", "checkpoint", "step"}), steps) << "the last step is saved";
  at_.Apply({.name = "not-upgraded", .steps = steps, .trainer = kConstantRate});
  at_.AwaitSuccess("not-upgraded");
  EXPECT_EQ(at_.SavedWeights(kName, steps), at_.SavedWeights("not-upgraded", steps));
}

}  // namespace
}  // namespace muster::tests
