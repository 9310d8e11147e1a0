#include "operator/scheduler/bind/bind_tracker.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/objects/caches.h"
#include "operator/objects/object_records.h"
#include "operator/objects/verdicts.h"
#include "operator/scheduler/bind/partial_bind_rollback.h"
#include "operator/scheduler/bind/pod_writer.h"

namespace muster::control {
namespace {

class BindTrackerTest : public testing::Test {
 protected:
  BindTrackerTest() {
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(3)]() mutable { return engine(); };
    memory_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
    api_ = std::make_unique<kube::FaultyApi>(*memory_, kube::FaultPolicy{});
    writer_ = std::make_unique<PodWriter>(*api_, 1, [] {});
    writes_ = std::make_unique<BindTracker>(*writer_, model_, clock_, absl::Minutes(1),
                                            [this](const std::string&) { ++changes_; });
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", "gpt"});
    job["spec"] = Json::parse(R"({"workers": {"count": 3}})");
    const Json stored = memory_->Create(kube::kTrainingJobs, job).value();
    owner_ = kube::ControllerReferenceTo(kube::kTrainingJobs, stored);
    for (int i = 0; i < 3; ++i) AddPod(i);
  }

  static kube::ObjectKey Key(int index) { return {"default", absl::StrCat("gpt-", index, "-1")}; }

  void AddPod(int index) {
    Json pod = kube::NewObject(kube::kPods, Key(index));
    kube::SetLabel(pod, "muster.dev/job", "gpt");
    kube::SetLabel(pod, "muster.dev/index", absl::StrCat(index));
    kube::SetLabel(pod, "muster.dev/incarnation", "1");
    kube::SetOwners(pod, {owner_});
    pod["spec"] = Json::parse(
        R"({"schedulerName": "muster", "containers": [{"name": "worker", "image": "x"}]})");
    ASSERT_TRUE(memory_->Create(kube::kPods, pod).ok());
    See(index);
  }
  // The cache shows the pod as it is stored.
  void See(int index) {
    const Json pod = memory_->Get(kube::kPods, Key(index)).value();
    model_.PutPod(Key(index), std::make_shared<const PodRecord>(ParsePodRecord(pod).value()));
  }
  Json OtherPod() const {
    Json pod = kube::NewObject(kube::kPods, {"default", "other-0-1"});
    pod["spec"] = Json::parse(
        R"({"schedulerName": "muster", "containers": [{"name": "worker", "image": "x"}]})");
    return pod;
  }
  static PodCache::Object PodOf(const Json& pod) {
    return std::make_shared<const PodRecord>(ParsePodRecord(pod).value());
  }
  void Refuse(const std::string& sentence) {
    writes_->Take();
    writes_->Refuse(owner_.uid, model_.gangs().at(owner_.uid), sentence);
  }
  void BindAll() {
    std::vector<BindTracker::Member> members;
    for (const auto& [place, pod] : model_.gangs().at(owner_.uid).unbound) {
      members.push_back({pod, "a"});
    }
    writes_->Bind(owner_.uid, members);
  }

  ManualClock clock_;
  kube::OwnerReference owner_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<kube::FaultyApi> api_;
  ClusterModel model_;
  std::unique_ptr<PodWriter> writer_;
  std::unique_ptr<BindTracker> writes_;
  int changes_ = 0;  // calls of on_change
};

TEST_F(BindTrackerTest, ABindDoesNotQueueBehindRefusals) {
  Refuse("no room");
  ASSERT_EQ(writer_->pending(), 3);
  BindAll();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer_->RunNext());
  EXPECT_EQ(api_->calls(kube::Verb::kBind), 3);
  EXPECT_EQ(api_->calls(kube::Verb::kUpdateStatus), 0);
  while (writer_->RunNext()) {
  }
  EXPECT_EQ(api_->calls(kube::Verb::kUpdateStatus), 0) << "a pod that has its node is told nothing";
}

// Each pod that shows the refusal changes its gang; that must not repeat the writes to the others.
TEST_F(BindTrackerTest, EveryPodOfAGangGetsARefusalOnce) {
  Refuse("no room");
  EXPECT_EQ(writer_->pending(), 3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(writer_->RunNext());
    See(i);
    Refuse("no room");
    EXPECT_EQ(writer_->pending(), 2 - i);
  }
  EXPECT_EQ(api_->calls(kube::Verb::kUpdateStatus), 3);
}

TEST_F(BindTrackerTest, ARefusalThatWasNotWrittenIsRepeated) {
  Refuse("no room");
  api_->FailNext(kube::Verb::kUpdateStatus, absl::UnavailableError("gone for a moment"));
  while (writer_->RunNext()) {
  }
  See(1);
  See(2);
  Refuse("no room");
  EXPECT_EQ(writer_->pending(), 1);
}

// Nothing else would bring the gang back in a quiet cluster.
TEST_F(BindTrackerTest, ARefusalThatWasNotWrittenIsRepeatedWithoutANewDecision) {
  Refuse("no room");
  api_->FailNext(kube::Verb::kUpdateStatus, absl::UnavailableError("gone for a moment"));
  while (writer_->RunNext()) {
  }
  for (int i = 0; i < 3; ++i) See(i);
  writes_->Take();
  writes_->Repeat();
  EXPECT_EQ(writer_->pending(), 0) << "at once it would be refused again";
  clock_.Advance(absl::Seconds(5));
  writes_->Repeat();
  EXPECT_EQ(writer_->pending(), 1);
  ASSERT_TRUE(writer_->RunNext());
  clock_.Advance(absl::Seconds(5));
  writes_->Take();
  writes_->Repeat();
  EXPECT_EQ(writer_->pending(), 0);
}

TEST_F(BindTrackerTest, AnotherSentenceSoonAfterwardsIsWrittenLater) {
  Refuse("room for 1 of 3");
  Refuse("room for 2 of 3");
  EXPECT_EQ(writer_->pending(), 3);
  clock_.Advance(absl::Seconds(5));
  writes_->Repeat();
  EXPECT_EQ(writer_->pending(), 6);
  clock_.Advance(absl::Seconds(1));
  Refuse("room for 1 of 3");
  Refuse("room for 2 of 3");  // the sentence that the pods show
  clock_.Advance(absl::Seconds(5));
  writes_->Repeat();
  EXPECT_EQ(writer_->pending(), 6);
}

TEST_F(BindTrackerTest, ADelayedRefusalIsDroppedWhenTheGangGetsItsPlace) {
  Refuse("room for 1 of 3");
  Refuse("room for 2 of 3");
  writes_->TakeRefusalBack(owner_.uid);
  clock_.Advance(absl::Seconds(5));
  writes_->Repeat();
  EXPECT_EQ(writer_->pending(), 3);
}

TEST_F(BindTrackerTest, APodThatShowsAnotherRefusalThanTheGangsIsWrittenAgain) {
  Refuse("no room");
  while (writer_->RunNext()) {
  }
  for (int i = 0; i < 3; ++i) See(i);
  Refuse("no room");
  Json pod = memory_->Get(kube::kPods, Key(1)).value();
  pod["status"]["conditions"][0]["message"] = "somebody else's";
  ASSERT_TRUE(memory_->UpdateStatus(kube::kPods, pod).ok());
  See(1);
  Refuse("no room");
  EXPECT_EQ(writer_->pending(), 1);
}

TEST_F(BindTrackerTest, AnotherReasonIsWrittenToEveryPod) {
  Refuse("no room");
  See(0);  // another version of the gang
  Refuse("no node");
  EXPECT_EQ(writer_->pending(), 6);
}

// A caller that waits for the end of a gang's binds gets no other signal.
TEST_F(BindTrackerTest, TheEndOfEachBindIsToldWhateverItsOutcome) {
  BindAll();
  api_->FailNext(kube::Verb::kBind, absl::DeadlineExceededError("not answered"));
  api_->FailNext(kube::Verb::kBind, absl::AbortedError("the pod has changed"));
  for (int left = 3; left > 0; --left) {
    EXPECT_EQ(writes_->in_flight(owner_.uid), left);
    changes_ = 0;
    ASSERT_TRUE(writer_->RunNext());
    writes_->Take();
    EXPECT_EQ(changes_, 1) << "with " << left << " under way";
  }
  EXPECT_EQ(writes_->in_flight(owner_.uid), 0);
}

TEST_F(BindTrackerTest, ARefusedBindIsTriedAgainBehindTheFirstTriesOfOthers) {
  BindAll();
  api_->FailNext(kube::Verb::kBind, absl::PermissionDeniedError("a webhook says no"));
  while (writer_->RunNext()) {
  }
  writes_->Take();
  for (int i = 1; i < 3; ++i) See(i);
  BindAll();  // the one that was refused
  ASSERT_EQ(writer_->pending(), 1);
  const Json other = memory_->Create(kube::kPods, OtherPod()).value();
  writer_->Add({PodWrite::Kind::kBind, "another", PodOf(other), "b"});
  ASSERT_TRUE(writer_->RunNext());
  EXPECT_EQ(
      kube::StringAt(memory_->Get(kube::kPods, kube::KeyOf(other)).value(), {"spec", "nodeName"}),
      "b");
  EXPECT_EQ(writer_->pending(), 1);
  ASSERT_TRUE(writer_->RunNext());
  EXPECT_EQ(kube::StringAt(memory_->Get(kube::kPods, Key(0)).value(), {"spec", "nodeName"}), "a");
}

// Nearly all gangs are being bound in a burst of jobs: each cycle would look at all of them.
TEST_F(BindTrackerTest, AGangWhoseBindsAreInFlightIsNotCheckedForAPartialBind) {
  JobCache jobs{ParseTrainingJob};
  Verdicts verdicts([](const std::string&) {});
  PartialBindRollback rollback(absl::Seconds(5));
  auto look = [&] { rollback.Undo(clock_.Monotonic(), model_, jobs, verdicts, *writes_); };
  BindAll();
  rollback.Touch(owner_.uid);
  for (int i = 0; i < 5; ++i) look();
  EXPECT_EQ(rollback.checks(), 1);
}

}  // namespace
}  // namespace muster::control
