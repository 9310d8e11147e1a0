// Tests that a status stays small however large the job is and however badly it fails.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"
#include "operator/core/decide.h"
#include "operator/core/ending/lifetime.h"
#include "operator/core/round/gang.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"

namespace muster::control {
namespace {

constexpr int kWorkers = 5000;
constexpr size_t kBound = size_t{32} << 10;

class StatusSizeTest : public testing::Test {
 protected:
  StatusSizeTest() {
    view_.now = view_.wall = absl::FromUnixSeconds(1'700'000'000);
    view_.job = {"default", "large", "job-uid", 1, view_.wall, false, {kFinalizer}};
    view_.spec.mutable_workers()->set_count(kWorkers);
    view_.spec.mutable_workers()->set_min(1);
    view_.spec.mutable_workers()->set_max(kWorkers);
    view_.spec.mutable_workers()->set_ranks(8);
    view_.spec.mutable_trainer()->mutable_train()->set_steps(1'000'000);
    view_.spec.mutable_failure_policy()->set_max_failures(1000);
    view_.leader_term = 1;
    view_.leading_since = view_.now;
  }
  // Decides once and records the size of the status as the API server would store it.
  void Decide() {
    Plan plan = control::Decide(view_, memory_, {});
    memory_ = std::move(plan.memory);
    view_.status = std::move(plan.status);
    TrainingJob job;
    job.raw = Json::object();
    job.status = view_.status;
    largest_ = std::max(largest_, DumpJson(ToJson(job)["status"]).size());
  }
  void FailEveryPod() {
    view_.pods.clear();
    for (int index = 0; index < kWorkers; ++index) {
      PodView pod;
      pod.index = index;
      pod.incarnation = view_.status.incarnations(index);
      pod.name = PodName("large", index, pod.incarnation);
      pod.uid = absl::StrCat("pod-", index, "-", pod.incarnation);
      pod.phase = PodPhase::kFailed;
      pod.node = absl::StrCat("node-", index);
      pod.deleting = index > 0;  // deleted with their nodes, which does not count as a failure
      if (index == 0) {
        ContainerEnd end;
        end.container = "worker";
        end.exit_code = 1;
        pod.exit_code = 1;
        pod.ended.push_back(end);
        pod.message = std::string(16 << 10, 'x');
      }
      view_.pods.push_back(pod);
    }
  }

  JobView view_;
  RoundMemory memory_;
  size_t largest_ = 0;
};

TEST_F(StatusSizeTest, StaysSmallWhenFiveThousandWorkersFailAgainAndAgain) {
  Decide();  // records the incarnations
  Decide();  // creates the pods
  for (int failure = 0; failure < 90; ++failure) {
    FailEveryPod();
    Decide();
    view_.now += absl::Minutes(2);
    view_.wall += absl::Minutes(2);
  }
  EXPECT_GE(view_.status.incarnations(kWorkers - 1), 90);
  EXPECT_GE(view_.status.failures().count(), 50);
  EXPECT_EQ(view_.status.failures().evidence().size(), size_t{8} << 10);
  EXPECT_GT(largest_, size_t{24} << 10);
  EXPECT_LE(largest_, kBound);
}

}  // namespace
}  // namespace muster::control
