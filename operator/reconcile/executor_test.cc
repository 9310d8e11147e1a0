#include "operator/reconcile/executor.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/core/state/checked_status.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/reconcile/fan_out.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

struct FakeStream final : AgentStream {
  absl::Status Send(EncodedMessage message) override {
    EXPECT_TRUE(sent.emplace_back().ParseFromString(*message));
    return absl::OkStatus();
  }
  void Close(const absl::Status&) override {}
  std::vector<v1alpha1::OperatorMessage> sent;
};

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() {
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(3)]() mutable { return engine(); };
    memory_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
    api_ = std::make_unique<kube::FaultyApi>(*memory_, kube::FaultPolicy{});
    events_ = std::make_unique<EventRecorder>(*api_, clock_, "test");
    executor_ = std::make_unique<Executor>(*api_, registry_, *events_,
                                           PodBuilderOptions{"unix:/c.sock", "muster-agent"});
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", "gpt"});
    job["spec"] = {{"workers", {{"count", 1}}}};
    job_ = ParseTrainingJob(memory_->Create(kube::kTrainingJobs, job).value()).value();

    registry_.SetLeader();
    registry_.Register({"default/gpt", job_.uid, 1, nullptr, {1}});
    v1alpha1::AgentHello hello;
    hello.mutable_worker()->set_job("gpt");
    hello.mutable_worker()->set_job_uid(job_.uid);
    hello.mutable_worker()->set_incarnation(1);
    hello.mutable_worker()->set_pod_uid("pod");
    EXPECT_TRUE(registry_.Attach(hello, stream_).ok());
    stream_->sent.clear();
  }

  Plan PlanRound() const {
    Plan plan;
    plan.status = job_.status;
    plan.status.set_term(1);
    plan.status.set_round(1);
    plan.write_status = true;
    plan.orders.push_back({0, 1, "pod", PrepareOrder{{1, 1}, {}, "hash"}});
    plan.events.push_back({Event::Type::kNormal, "Tested", "it was"});
    return plan;
  }
  CreatePod Pod(int incarnation) const {
    CreatePod create;
    create.name = "gpt-0-" + std::to_string(incarnation);
    create.incarnation = incarnation;
    return create;
  }
  // Writes and announces like the controller.
  absl::Status Execute(const Plan& plan) {
    if (absl::Status status = executor_->Write(job_, plan, written_); !status.ok()) return status;
    return executor_->Announce(job_, plan);
  }
  TrainingJob Stored() const {
    return ParseTrainingJob(memory_->Get(kube::kTrainingJobs, {"default", "gpt"}).value()).value();
  }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<kube::FaultyApi> api_;
  AgentRegistry registry_{clock_, nullptr, [](const std::string&) {}};
  std::unique_ptr<EventRecorder> events_;
  std::unique_ptr<Executor> executor_;
  std::shared_ptr<FakeStream> stream_ = std::make_shared<FakeStream>();
  TrainingJob job_;
  Written written_;
};

TEST_F(ExecutorTest, WritesTheStatusThenSendsOrdersAndEvents) {
  ASSERT_TRUE(Execute(PlanRound()).ok());
  EXPECT_EQ(Stored().status.round(), 1);
  EXPECT_EQ(std::to_string(written_.job_version), Stored().resource_version);
  ASSERT_EQ(stream_->sent.size(), 1u);
  EXPECT_EQ(stream_->sent[0].prepare().membership(), "hash");
  EXPECT_EQ(memory_->List(kube::kEvents, {})->items.size(), 1u);
}

TEST_F(ExecutorTest, ATuneOrderCarriesTheWholeListWithItsRound) {
  Plan plan = PlanRound();
  auto tunings = std::make_shared<std::vector<v1alpha1::Tuning>>(2);
  (*tunings)[0].set_step(41);
  (*tunings)[0].set_learning_rate(1e-4);
  (*tunings)[1].set_clip_norm(0);
  plan.orders = {{0, 1, "pod", TuneOrder{{1, 1}, tunings}}};
  ASSERT_TRUE(Execute(plan).ok());
  ASSERT_EQ(stream_->sent.size(), 1u);
  const v1alpha1::TuneRun& tune = stream_->sent[0].tune();
  EXPECT_EQ(tune.round().round(), 1);
  ASSERT_EQ(tune.tunings_size(), 2);
  EXPECT_EQ(tune.tunings(0).step(), 41);
  EXPECT_EQ(tune.tunings(0).learning_rate(), 1e-4);
  EXPECT_TRUE(tune.tunings(1).has_clip_norm());
  EXPECT_FALSE(tune.tunings(1).has_learning_rate());
}

// The secret is random, is the same for agents that attach again, and is never stored.
TEST_F(ExecutorTest, EachRoundHasASecretThatOnlyItsMembersAreTold) {
  Plan plan = PlanRound();
  plan.orders.push_back(plan.orders[0]);
  plan.orders.push_back({0, 1, "pod", PrepareOrder{{1, 2}, {}, "hash"}});
  ASSERT_TRUE(Execute(plan).ok());
  ASSERT_EQ(stream_->sent.size(), 3u);
  const std::string secret = stream_->sent[0].prepare().secret();
  EXPECT_EQ(secret.size(), 32u);
  EXPECT_EQ(stream_->sent[1].prepare().secret(), secret);
  EXPECT_NE(stream_->sent[2].prepare().secret(), secret);
  Executor other(*api_, registry_, *events_, PodBuilderOptions{});
  ASSERT_TRUE(other.Announce(job_, plan).ok());
  EXPECT_NE(stream_->sent[3].prepare().secret(), secret) << "of another process";
}

// A field that the answer left out was taken for dropped by the server, and no stop was carried
// out.
TEST_F(ExecutorTest, TheAnswerToAStatusWriteHasEveryFieldThatIsCompared) {
  Plan plan = PlanRound();
  plan.status.set_membership("hash");
  plan.status.add_incarnations(1);
  plan.status.mutable_workers()->set_ended("0");
  plan.status.mutable_workers()->set_told_to_stop("0");
  plan.status.mutable_checkpoint()->set_step(10);
  plan.status.mutable_checkpoint()->set_history("0123456789abcdef");
  plan.status.mutable_checkpoint()->set_attempt(1);
  ASSERT_FALSE(DescribeMissingFields(plan.status, job_.status).empty());
  EXPECT_TRUE(executor_->Write(job_, plan, written_).ok()) << written_.status_fault;
}

TEST_F(ExecutorTest, AJobHasItsNetworkPolicyBeforeItHasPods) {
  executor_ = std::make_unique<Executor>(*api_, registry_, *events_,
                                         PodBuilderOptions{"unix:/c.sock", "muster-agent"}, nullptr,
                                         FanOut::InOrder(), nullptr, "muster-system");
  Json theirs = kube::NewObject(kube::kNetworkPolicies, {"default", "gpt-workers"});
  ASSERT_TRUE(memory_->Create(kube::kNetworkPolicies, theirs).ok());
  Plan plan = PlanRound();
  plan.creates = {Pod(1)};
  EXPECT_FALSE(Execute(plan).ok());
  EXPECT_TRUE(memory_->List(kube::kPods, {})->items.empty()) << "it would be open to all";
  EXPECT_EQ(memory_->List(kube::kEvents, {})->items.size(), 1u) << "FailedCreate";
  ASSERT_TRUE(memory_->Delete(kube::kNetworkPolicies, {"default", "gpt-workers"}).ok());
  ASSERT_TRUE(Execute(plan).ok());
  EXPECT_EQ(memory_->List(kube::kPods, {})->items.size(), 1u);
  EXPECT_TRUE(memory_->Get(kube::kNetworkPolicies, {"default", "gpt-workers"}).ok());
}

TEST_F(ExecutorTest, ASuspensionIsWrittenWithTheStatusThatSaysWhy) {
  Plan plan = PlanRound();
  plan.suspend = true;
  plan.status.add_alerts()->set_name("spike");
  ASSERT_TRUE(Execute(plan).ok());
  EXPECT_TRUE(Stored().spec.suspend());
  EXPECT_EQ(Stored().spec.workers().count(), 1);
  ASSERT_EQ(Stored().status.alerts_size(), 1);
  EXPECT_EQ(std::to_string(written_.job_version), Stored().resource_version);
}

TEST_F(ExecutorTest, ASuspensionNeedsNoRightToReadOrReplaceTheJob) {
  const absl::Status forbidden = kube::ApiError(kube::Reason::kForbidden, "no such right");
  for (const kube::Verb verb : {kube::Verb::kGet, kube::Verb::kUpdate}) {
    api_->FailNext(verb, forbidden);
  }
  Plan plan = PlanRound();
  plan.suspend = true;
  const absl::Status executed = Execute(plan);
  EXPECT_TRUE(executed.ok()) << executed;
  EXPECT_TRUE(Stored().spec.suspend());
}

TEST_F(ExecutorTest, AJobThatChangedMeanwhileIsNotSuspended) {
  Json other = memory_->Get(kube::kTrainingJobs, {"default", "gpt"}).value();
  other["spec"]["workers"]["count"] = 2;
  ASSERT_TRUE(memory_->Update(kube::kTrainingJobs, other).ok());
  Plan plan = PlanRound();
  plan.suspend = true;
  EXPECT_TRUE(absl::IsAborted(Execute(plan)));
  EXPECT_FALSE(Stored().spec.suspend());
  EXPECT_EQ(Stored().status.round(), 0);
}

TEST_F(ExecutorTest, AConflictingStatusWriteSendsNothing) {
  Json other = memory_->Get(kube::kTrainingJobs, {"default", "gpt"}).value();
  other["spec"]["workers"]["count"] = 2;
  ASSERT_TRUE(memory_->Update(kube::kTrainingJobs, other).ok());
  EXPECT_TRUE(absl::IsAborted(Execute(PlanRound())));
  EXPECT_TRUE(stream_->sent.empty());
  EXPECT_TRUE(memory_->List(kube::kEvents, {})->items.empty());
  EXPECT_EQ(Stored().status.round(), 0);
}

TEST_F(ExecutorTest, AStatusWriteOfUnknownOutcomeSendsNothing) {
  api_->FailNext(kube::Verb::kUpdateStatus, kube::ApiError(kube::Reason::kTimeout, "slow"), true);
  EXPECT_EQ(Execute(PlanRound()).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(stream_->sent.empty());
}

TEST_F(ExecutorTest, AFailedCreateWritesNoStatus) {
  Plan plan = PlanRound();
  plan.creates.push_back(Pod(1));
  api_->FailNext(kube::Verb::kCreate, kube::ApiError(kube::Reason::kForbidden, "quota"));
  const absl::Status status = Execute(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("create pod gpt-0-1"));
  EXPECT_EQ(Stored().status.round(), 0);
  EXPECT_TRUE(stream_->sent.empty());
}

TEST_F(ExecutorTest, AForbiddenCreateIsTriedWithOnePodOnly) {
  Plan plan;
  plan.status = job_.status;
  for (int i = 1; i <= 10; ++i) plan.creates.push_back(Pod(i));
  api_->FailNext(kube::Verb::kCreate, kube::ApiError(kube::Reason::kForbidden, "quota"));
  EXPECT_EQ(Execute(plan).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(memory_->List(kube::kPods, {})->items.empty());
  ASSERT_TRUE(Execute(plan).ok());
  EXPECT_EQ(memory_->List(kube::kPods, {})->items.size(), 10u);
}

TEST_F(ExecutorTest, ATypoInsideThePodTemplateIsARefusalThatNamesIt) {
  Json job = memory_->Get(kube::kTrainingJobs, {"default", "gpt"}).value();
  job["spec"]["template"]["spec"]["containers"] =
      Json::parse(R"([{"name": "worker", "image": "x", "command": ["true"],
                       "volumeMount": [{"name": "data", "mountPath": "/data"}]}])");
  job_ = ParseTrainingJob(memory_->Update(kube::kTrainingJobs, job).value()).value();
  Plan plan;
  plan.status = job_.status;
  plan.creates.push_back(Pod(1));
  EXPECT_FALSE(Execute(plan).ok());
  EXPECT_THAT(written_.refused_pod, HasSubstr("spec.template: the API server refuses its pod: "));
  EXPECT_THAT(written_.refused_pod, HasSubstr("unknown field \"spec.containers[0].volumeMount\""));
  EXPECT_TRUE(memory_->List(kube::kPods, {})->items.empty());
}

TEST_F(ExecutorTest, PodsMadeAtOnceAreAllWaitedFor) {
  ThreadFanOut fan_out(3);
  Executor executor(*api_, registry_, *events_, {"unix:/c.sock", "muster-agent"}, nullptr, fan_out);
  Plan plan;
  plan.status = job_.status;
  for (int i = 1; i <= 30; ++i) plan.creates.push_back(Pod(i));
  ASSERT_TRUE(executor.Write(job_, plan, written_).ok());
  uint64_t newest = 0;
  const auto pods = memory_->List(kube::kPods, {})->items;
  for (const Json& pod : pods) {
    newest = std::max(newest, kube::ParseResourceVersion(kube::ResourceVersionOf(pod)).value());
  }
  EXPECT_EQ(pods.size(), 30u);
  EXPECT_EQ(written_.pod_version, newest);
}

TEST_F(ExecutorTest, APodThatIsThereAlreadyIsSuccessOnlyWhenItIsOurs) {
  Plan plan;
  plan.status = job_.status;
  plan.creates.push_back(Pod(1));
  ASSERT_TRUE(Execute(plan).ok());
  EXPECT_TRUE(Execute(plan).ok());
  Json foreign = kube::NewObject(kube::kPods, {"default", "gpt-0-2"});
  foreign["spec"]["containers"] = {{{"name", "worker"}, {"image", "x"}}};
  ASSERT_TRUE(memory_->Create(kube::kPods, foreign).ok());
  plan.creates = {Pod(2)};
  const absl::Status status = Execute(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(status.message(), HasSubstr("belongs to another owner"));
}

TEST_F(ExecutorTest, DeletesOnlyThePodThatWasMeant) {
  Plan plan;
  plan.status = job_.status;
  plan.creates.push_back(Pod(1));
  ASSERT_TRUE(Execute(plan).ok());
  plan.creates.clear();
  plan.deletes.push_back({"gpt-0-1", "another-uid", absl::ZeroDuration(), "test"});
  plan.deletes.push_back({"gpt-0-9", "gone", absl::ZeroDuration(), "test"});
  ASSERT_TRUE(Execute(plan).ok());
  EXPECT_TRUE(memory_->Get(kube::kPods, {"default", "gpt-0-1"}).ok());
}

TEST_F(ExecutorTest, AddsAndRemovesFinalizersWithTheStatus) {
  Plan plan = PlanRound();
  plan.add_finalizers = {"muster.dev/workers"};
  ASSERT_TRUE(Execute(plan).ok());
  job_ = Stored();
  EXPECT_EQ(job_.finalizers, std::vector<std::string>{"muster.dev/workers"});
  EXPECT_EQ(job_.status.round(), 1);
  ASSERT_TRUE(memory_->Delete(kube::kTrainingJobs, {"default", "gpt"}).ok());
  job_ = Stored();
  ASSERT_TRUE(job_.deleting());
  plan = Plan();
  plan.status = job_.status;
  plan.write_status = true;
  plan.remove_finalizers = {"muster.dev/workers"};
  ASSERT_TRUE(Execute(plan).ok());
  EXPECT_FALSE(memory_->Get(kube::kTrainingJobs, {"default", "gpt"}).ok());
}

TEST_F(ExecutorTest, RepeatedEventsAreCountedAndFloodsCutOff) {
  const Event event{Event::Type::kWarning, "RankFailed", "again"};
  for (int i = 0; i < 3; ++i) events_->Record({"default", "gpt"}, job_.uid, event);
  auto items = memory_->List(kube::kEvents, {})->items;
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0]["count"], 3);
  EXPECT_EQ(items[0]["involvedObject"]["uid"], job_.uid);
  for (int i = 0; i < 100; ++i) {
    events_->Record({"default", "gpt"}, job_.uid,
                    {Event::Type::kNormal, "Flood", std::to_string(i)});
  }
  items = memory_->List(kube::kEvents, {})->items;
  EXPECT_EQ(items.size(), 1u + EventRecorder::kBurst - 3);
  EXPECT_EQ(events_->dropped(), 100 - (EventRecorder::kBurst - 3));
  clock_.Advance(EventRecorder::kRefill);
  events_->Record({"default", "gpt"}, job_.uid, {Event::Type::kNormal, "Later", "one more"});
  EXPECT_EQ(memory_->List(kube::kEvents, {})->items.size(), items.size() + 1);
}

}  // namespace
}  // namespace muster::control
