// Jobs on real kubelets that grow into free capacity and give it up for another job, or are scaled:
// their processes live on, no step is lost, and they end with the weights they would have had.
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using kube::StringAt;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kName[] = "grows";
// With it the weights after a step do not depend on the number of steps that were to come.
constexpr char kConstantRate[] = "    optimizer: {schedule: constant}\n";

class ElasticTest : public testing::Test {
 protected:
  void SetUp() override { at_.Kubectl("cordon node-1"); }
  void TearDown() override {
    at_.Kubectl("uncordon node-1");
    at_.Kubectl("delete trainingjobs --all --timeout=120s");
  }

  // A node has room for two workers and no third.
  std::string HalfANode() {
    const std::string cpu =
        at_.Kubectl("get node node-0 --output=jsonpath='{.status.allocatable.cpu}'");
    double cpus = 0;
    absl::string_view text = cpu;
    const bool milli = absl::ConsumeSuffix(&text, "m");
    EXPECT_TRUE(absl::SimpleAtod(text, &cpus)) << cpu;
    const int millis = static_cast<int>(cpus * (milli ? 1 : 1000) * 0.4);
    return absl::StrCat("        resources: {requests: {cpu: ", millis, "m}}\n");
  }

  // Waits until the job's newest resize is to `workers`, and its round trains.
  Json AwaitSize(const std::string& name, int workers) {
    return at_.AwaitJob(name, [workers](const Json& job) {
      const Json running = ConditionOf(job, "Running");
      return NumberAt(job, {"status", "resize", "to"}) == workers &&
             StringAt(job, {"status", "state"}) == "Training" && !running.is_null() &&
             StringAt(running, {"status"}) == "True";
    });
  }
  // Suspends the job, and expects the weights and the loss of `reference` after as many steps.
  void ExpectEndOf(TrainerJob reference, const std::string& name) {
    at_.Kubectl(absl::StrCat("patch trainingjob/", name,
                             " --type=merge --patch='{\"spec\":{\"suspend\":true}}'"));
    at_.AwaitCondition(name, "Suspended", "True", "WorkersStopped");
    const Json stopped = at_.Job(name);
    const int64_t steps = NumberAt(stopped, {"status", "progress", "step"});
    EXPECT_EQ(NumberAt(stopped, {"status", "checkpoint", "step"}), steps);
    reference.steps = static_cast<int>(steps);
    reference.save_every = 1000;
    at_.Apply(reference);
    const Json other = at_.AwaitSuccess(reference.name);
    EXPECT_EQ(at_.SavedWeights(name, reference.steps),
              at_.SavedWeights(reference.name, reference.steps));
    EXPECT_EQ(stopped["status"]["progress"]["loss"], other["status"]["progress"]["loss"]);
  }
  static void Print(const Json& job) {
    std::printf("resize: %s\n", job["status"]["resize"].dump().c_str());
  }
  static std::string Why(const Json& job) { return StringAt(job, {"status", "elastic", "reason"}); }

  InstalledOperator& at_ = InstalledOperator::Get();
};

TEST_F(ElasticTest, AJobGrowsOntoANodeAndMakesRoomForAnotherJobAndLosesNoStep) {
  const std::string half_a_node = HalfANode();
  const TrainerJob undisturbed = {.name = "not-grown",
                                  .workers = 2,
                                  .global_batch = 16,
                                  .elastic_size = ", min: 1",
                                  .trainer = kConstantRate,
                                  .container = half_a_node};
  TrainerJob job = undisturbed;
  job.name = kName;
  job.steps = 1'000'000;
  job.elastic_size = ", min: 1, max: 4";
  job.spec = "  elastic: {policy: Grow, snooze: 10s}\n";
  at_.Apply(job);
  const Json small = at_.AwaitJob(kName, [](const Json& now) { return Why(now) == "NoCapacity"; });
  EXPECT_EQ(NumberAt(small, {"status", "elastic", "wanted"}), 4);

  at_.Kubectl("uncordon node-1");
  const Json grown = AwaitSize(kName, 4);
  EXPECT_EQ(NumberAt(grown, {"status", "resize", "from"}), 2);
  EXPECT_EQ(grown["status"]["incarnations"], Json({1, 1, 1, 1}));
  Print(grown);

  at_.Apply(
      {.name = "other", .workers = 1, .steps = 20, .save_every = 20, .container = half_a_node});
  at_.AwaitSuccess("other");
  const Json made_room = at_.Job(kName);
  EXPECT_EQ(StringAt(made_room, {"status", "preemption", "reason"}), "Yielded");
  EXPECT_EQ(NumberAt(made_room, {"status", "preemption", "count"}), -1) << "it was never stopped";
  Print(made_room);
  at_.Delete("other");
  const Json again = at_.AwaitJob(kName, [](const Json& now) {
    return NumberAt(now, {"status", "round"}) >= 4 &&
           NumberAt(now, {"status", "resize", "to"}) == 4 && Why(now) == "AtMaximum";
  });
  EXPECT_EQ(NumberAt(again, {"status", "round"}), 4) << "2, 4, 3 and 4 workers";
  // The first two workers never were anything but the same processes.
  EXPECT_EQ(again["status"]["incarnations"][0], 1);
  EXPECT_EQ(again["status"]["incarnations"][1], 1);
  EXPECT_EQ(kube::Find(again, {"status", "failures", "latest"}), nullptr);
  EXPECT_EQ(at_.Kubectl("logs grows-0-1 | grep -c 'joined round='"), "4\n");
  EXPECT_EQ(at_.Kubectl("logs grows-0-1 | grep -c 'data opened'"), "1\n");
  // Each round went on from the state in the ranks' memory.
  EXPECT_THAT(at_.Kubectl("describe trainingjob grows"),
              AllOf(HasSubstr("round 4"), Not(HasSubstr("workers; Checkpoint"))));

  // As many ranks write the last checkpoint, so that each file has the same tensors.
  TrainerJob reference = undisturbed;
  reference.workers = 4;
  ExpectEndOf(reference, kName);
}

TEST_F(ElasticTest, AJobThatIsScaledFromTwoToFourAndBackLosesNoStepAndNoProcess) {
  at_.Kubectl("uncordon node-1");
  const TrainerJob undisturbed = {.name = "not-scaled",
                                  .workers = 2,
                                  .global_batch = 16,
                                  .elastic_size = ", min: 1, max: 4",
                                  .trainer = kConstantRate};
  TrainerJob job = undisturbed;
  job.name = "scaled";
  job.steps = 1'000'000;
  at_.Apply(job);
  at_.AwaitSaved("scaled", 20);
  for (const int workers : {4, 2}) {
    at_.Kubectl(absl::StrCat("scale trainingjob/scaled --replicas=", workers));
    const Json resized = AwaitSize("scaled", workers);
    EXPECT_EQ(NumberAt(resized, {"status", "resize", "from"}), 6 - workers);
    EXPECT_EQ(kube::Find(resized, {"status", "failures", "latest"}), nullptr);
    Print(resized);
  }
  EXPECT_EQ(NumberAt(at_.Job("scaled"), {"status", "round"}), 3) << "2, 4 and 2 workers";
  EXPECT_EQ(at_.Kubectl("logs scaled-0-1 | grep -c 'joined round='"), "3\n");
  EXPECT_EQ(at_.Kubectl("logs scaled-0-1 | grep -c 'data opened'"), "1\n");
  ExpectEndOf(undisturbed, "scaled");
}

}  // namespace
}  // namespace muster::tests
