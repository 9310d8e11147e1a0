#include "operator/kube/lease.h"

#include <memory>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/wrap/faulty_api.h"

namespace muster::kube {
namespace {

using State = LeaderElector::State;

class LeaseTest : public testing::Test {
 protected:
  struct Candidate {
    int started = 0;
    absl::Status lost;
    absl::Status failed;
    std::unique_ptr<LeaderElector> elector;
  };

  std::unique_ptr<Candidate> NewCandidate(const std::string& identity) {
    auto candidate = std::make_unique<Candidate>();
    LeaseConfig config;
    config.lease = {"muster", "leader"};
    config.identity = identity;
    config.annotations = {{"muster.dev/address", identity + ":7000"}};
    Candidate* raw = candidate.get();
    candidate->elector = std::make_unique<LeaderElector>(
        faulty_, clock_, config,
        LeaderElector::Callbacks{[raw](int64_t) { ++raw->started; },
                                 [raw](const absl::Status& why) { raw->lost = why; },
                                 [raw](const absl::Status& why) { raw->failed = why; }});
    return candidate;
  }
  State Step(Candidate& candidate) {
    candidate.elector->Step(clock_.Monotonic());
    return candidate.elector->state();
  }
  // Makes every call for the Lease fail as unavailable.
  void Disconnect(bool gone) {
    FaultPolicy policy;
    policy.unavailable = gone ? 1 : 0;
    policy.max_in_a_row = 1 << 30;
    faulty_.SetPolicy(policy);
  }

  ManualClock clock_;
  std::mt19937_64 random_{5};
  MemoryApiOptions options_{.random = [this] { return random_(); }};
  std::unique_ptr<MemoryApi> api_ = *MemoryApi::Open(clock_, options_);
  FaultyApi faulty_{*api_, {}};
};

TEST_F(LeaseTest, TheFirstCandidateLeadsWithTermOne) {
  auto a = NewCandidate("a");
  EXPECT_EQ(Step(*a), State::kLeader);
  EXPECT_EQ(a->started, 1);
  EXPECT_EQ(a->elector->term(), 1);
  EXPECT_TRUE(a->elector->IsLeader());
  const Json lease = *api_->Get(kLeases, {"muster", "leader"});
  EXPECT_EQ(StringAt(lease, {"spec", "holderIdentity"}), "a");
  EXPECT_EQ(lease["spec"]["leaseDurationSeconds"], 15);
  EXPECT_EQ(AnnotationOf(lease, "muster.dev/address"), "a:7000");
}

TEST_F(LeaseTest, AStandbyWaitsAndKnowsTheLeader) {
  auto a = NewCandidate("a");
  auto b = NewCandidate("b");
  Step(*a);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Step(*b), State::kStandby);
    EXPECT_EQ(Step(*a), State::kLeader);
    clock_.Advance(absl::Seconds(2));
  }
  EXPECT_EQ(a->started, 1);
  EXPECT_EQ(b->elector->holder(), "a");
  EXPECT_EQ(b->elector->holder_annotations().at("muster.dev/address"), "a:7000");
}

TEST_F(LeaseTest, ADeadLeaderIsReplacedAfterItsLeaseWithAHigherTerm) {
  auto a = NewCandidate("a");
  auto b = NewCandidate("b");
  Step(*a);
  EXPECT_EQ(Step(*b), State::kStandby);
  clock_.Advance(absl::Seconds(14));
  EXPECT_EQ(Step(*b), State::kStandby);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Step(*b), State::kLeader);
  EXPECT_EQ(b->elector->term(), 2);
}

TEST_F(LeaseTest, AFreshStandbyGivesAStrangersLeaseItsWholeTime) {
  auto a = NewCandidate("a");
  Step(*a);
  clock_.Advance(absl::Hours(1));
  auto b = NewCandidate("b");
  EXPECT_EQ(Step(*b), State::kStandby);
  clock_.Advance(absl::Seconds(15));
  EXPECT_EQ(Step(*b), State::kLeader);
}

TEST_F(LeaseTest, AThawedLeaderIsNoLeaderBeforeItsNextStep) {
  auto a = NewCandidate("a");
  Step(*a);
  clock_.Advance(absl::Seconds(10));
  EXPECT_FALSE(a->elector->IsLeader());
  EXPECT_EQ(Step(*a), State::kLost);
  EXPECT_EQ(a->lost.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(LeaseTest, ALeaderThatCannotRenewIsLostAfterTheDeadline) {
  auto a = NewCandidate("a");
  Step(*a);
  Disconnect(true);
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(absl::Seconds(2));
    EXPECT_EQ(Step(*a), State::kLeader) << i;
  }
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Step(*a), State::kLost);
  Disconnect(false);
  EXPECT_EQ(Step(*a), State::kLost);
}

// A standby that the server keeps refusing must report why.
TEST_F(LeaseTest, AFailedAttemptIsReported) {
  auto a = NewCandidate("a");
  Disconnect(true);
  EXPECT_EQ(Step(*a), State::kStandby);
  EXPECT_EQ(a->failed.code(), absl::StatusCode::kUnavailable);
}

// The error contains the reason of the failed attempts, also if the deadline passes between two.
TEST_F(LeaseTest, ALeaderThatIsLostBetweenTwoAttemptsSaysWhyTheyFailed) {
  auto a = NewCandidate("a");
  ASSERT_EQ(Step(*a), State::kLeader);
  Disconnect(true);
  clock_.Advance(absl::Seconds(9));
  EXPECT_EQ(Step(*a), State::kLeader);
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Step(*a), State::kLost);
  EXPECT_EQ(a->lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StartsWith(a->lost.message(), "the lease could not be renewed: "));
}

// The last attempt before the deadline may have a tenth of a second; its timeout is not the cause.
TEST_F(LeaseTest, AnAttemptThatRanOutOfTimeDoesNotHideWhyThoseBeforeFailed) {
  auto a = NewCandidate("a");
  ASSERT_EQ(Step(*a), State::kLeader);
  faulty_.FailNext(Verb::kUpdate, ApiError(Reason::kForbidden, "leases are not yours"));
  clock_.Advance(absl::Seconds(8));
  EXPECT_EQ(Step(*a), State::kLeader);
  faulty_.FailNext(Verb::kUpdate, ApiError(Reason::kTimeout, "it did not answer in time"));
  clock_.Advance(absl::Milliseconds(1900));
  EXPECT_EQ(Step(*a), State::kLeader);
  EXPECT_EQ(a->failed.message(), "it did not answer in time");
  clock_.Advance(absl::Milliseconds(200));
  EXPECT_EQ(Step(*a), State::kLost);
  EXPECT_EQ(a->lost.message(), "the lease could not be renewed: leases are not yours");
}

TEST_F(LeaseTest, ALeaderThatWasTakenOverIsLost) {
  auto a = NewCandidate("a");
  Step(*a);
  Json lease = *api_->Get(kLeases, {"muster", "leader"});
  lease["spec"]["holderIdentity"] = "usurper";
  ASSERT_TRUE(api_->Update(kLeases, lease).ok());
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Step(*a), State::kLost);
  EXPECT_EQ(a->lost.message(), "the lease is held by usurper");
}

TEST_F(LeaseTest, ARenewalThatWasDoneButNotAnsweredKeepsTheLead) {
  auto a = NewCandidate("a");
  Step(*a);
  clock_.Advance(absl::Seconds(2));
  faulty_.FailNext(Verb::kUpdate, ApiError(Reason::kTimeout, "lost"), /*done=*/true);
  EXPECT_EQ(Step(*a), State::kLeader);
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(Step(*a), State::kLeader);
  EXPECT_EQ(a->elector->term(), 1);
}

TEST_F(LeaseTest, OfTwoThatTryAtOnceOneLeads) {
  auto a = NewCandidate("a");
  auto b = NewCandidate("b");
  faulty_.FailNext(Verb::kGet, ApiError(Reason::kNotFound, "read before the other's create"));
  Step(*a);
  faulty_.FailNext(Verb::kGet, ApiError(Reason::kNotFound, "read before the other's create"));
  EXPECT_EQ(Step(*b), State::kStandby);
  EXPECT_EQ(a->elector->state(), State::kLeader);
}

TEST_F(LeaseTest, AReleasedLeaseIsTakenSoon) {
  auto a = NewCandidate("a");
  auto b = NewCandidate("b");
  Step(*a);
  Step(*b);
  ASSERT_TRUE(a->elector->Release().ok());
  EXPECT_FALSE(a->elector->IsLeader());
  EXPECT_EQ(Step(*b), State::kLeader);
  EXPECT_EQ(b->elector->term(), 2);
}

TEST_F(LeaseTest, TheNextLeaderKnowsWhetherTheLeaseWasReleased) {
  auto a = NewCandidate("a");
  auto b = NewCandidate("b");
  auto c = NewCandidate("c");
  Step(*a);
  EXPECT_FALSE(a->elector->was_released());
  ASSERT_TRUE(a->elector->Release().ok());
  Step(*b);
  EXPECT_TRUE(b->elector->was_released());
  Step(*c);
  clock_.Advance(absl::Seconds(15));
  ASSERT_EQ(Step(*c), State::kLeader);
  EXPECT_FALSE(c->elector->was_released());
}

TEST_F(LeaseTest, AStandbyLooksOftenEnoughForAQuickHandOver) {
  auto a = NewCandidate("a");
  auto b = NewCandidate("b");
  EXPECT_EQ(a->elector->Step(clock_.Monotonic()), clock_.Monotonic() + absl::Seconds(2));
  EXPECT_EQ(b->elector->Step(clock_.Monotonic()), clock_.Monotonic() + absl::Seconds(1));
}

TEST_F(LeaseTest, CheckLeadingSaysWhyNot) {
  auto a = NewCandidate("a");
  EXPECT_EQ(a->elector->CheckLeading().message(), "the lease is not held");
  Step(*a);
  EXPECT_TRUE(a->elector->CheckLeading().ok());
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(a->elector->CheckLeading().message(), "the lease was not renewed in time");
}

TEST_F(LeaseTest, ARestartUnderTheSameNameIsANewTerm) {
  auto a = NewCandidate("a");
  Step(*a);
  auto again = NewCandidate("a");
  Step(*again);
  clock_.Advance(absl::Seconds(15));
  EXPECT_EQ(Step(*again), State::kLeader);
  EXPECT_EQ(again->elector->term(), 2);
}

TEST_F(LeaseTest, TheWallClockDoesNotMatter) {
  auto a = NewCandidate("a");
  auto b = NewCandidate("b");
  Step(*a);
  Step(*b);
  clock_.StepWall(absl::Hours(-5));
  EXPECT_EQ(Step(*b), State::kStandby);
  clock_.StepWall(absl::Hours(50));
  EXPECT_EQ(Step(*b), State::kStandby);
}

}  // namespace
}  // namespace muster::kube
