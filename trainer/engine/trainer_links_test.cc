// Tests rounds whose links are measured before their first step.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"
#include "trainer/engine/trainer.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrainerLinksTest : public TrainerTest {
 protected:
  // Three workers, the last of two ranks.
  v1alpha1::ToTrainer Order(double hold) const {
    v1alpha1::ToTrainer message;
    message.mutable_go()->mutable_round()->set_round(round_);
    message.mutable_go()->set_endpoint("thread:1");
    *message.mutable_go()->mutable_resume() = Fresh(1);
    for (const int rank : {0, 1, 2}) message.mutable_go()->mutable_link_test()->add_ranks(rank);
    message.mutable_go()->mutable_link_test()->set_hold_seconds(hold);
    return message;
  }
};

TEST_F(TrainerLinksTest, TheFirstRanksOfWorkersMeasureEveryPairAndThenAllStep) {
  auto a = Start(), b = Start(), c = Start(), d = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get(), c.get(), d.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->Send(Order(0));
  std::set<std::pair<int, int>> pairs;
  for (ThreadTrainer* rank : ranks) {
    const v1alpha1::WorkerJoined joined = rank->AwaitJoined();
    EXPECT_EQ(joined.error(), "");
    for (const v1alpha1::LinkSpeed& link : joined.links()) {
      EXPECT_TRUE(link.bytes_per_second() > 0) << link.bytes_per_second();
      EXPECT_TRUE(pairs.emplace(link.rank(), link.peer()).second);
    }
  }
  EXPECT_EQ(pairs, (std::set<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 2}}));
  ExpectUndisturbedWeights(ranks);
}

TEST_F(TrainerLinksTest, RanksThatAreHeldStepWithTheSecondOrderOnly) {
  auto a = Start(), b = Start(), c = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get(), c.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->Send(Order(60));
  for (ThreadTrainer* rank : ranks) EXPECT_EQ(rank->AwaitJoined().error(), "");
  // Another round finds them without a step.
  for (const auto& position : Prepare(ranks)) EXPECT_EQ(position.applied().step(), 0);
  EXPECT_THAT(a->outbox().Reports(), IsEmpty());
  for (ThreadTrainer* rank : ranks) rank->Send(Order(60));
  for (ThreadTrainer* rank : ranks) EXPECT_EQ(rank->AwaitJoined().error(), "");
  for (ThreadTrainer* rank : ranks) rank->Send(Order(60));
  ExpectUndisturbedWeights(ranks);
}

TEST_F(TrainerLinksTest, RanksWhoseOperatorIsGoneStepAfterTheHold) {
  auto a = Start(), b = Start(), c = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get(), c.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->Send(Order(0.2));
  ExpectUndisturbedWeights(ranks);
}

TEST_F(TrainerLinksTest, AHeldRankThatIsStoppedEndsWithoutAStep) {
  auto a = Start(), b = Start(), c = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get(), c.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->Send(Order(60));
  for (ThreadTrainer* rank : ranks) EXPECT_EQ(rank->AwaitJoined().error(), "");
  c->Stop(/*save=*/true);
  const v1alpha1::TrainerFinished finished = c->AwaitFinished();
  EXPECT_TRUE(finished.succeeded()) << finished.message();
  EXPECT_EQ(finished.version().step(), 0);
}

TEST_F(TrainerLinksTest, AHeldRankThatIsToSaveAnswersThatItHasNobodyToSaveWith) {
  auto a = Start(), b = Start(), c = Start();
  const std::vector<ThreadTrainer*> ranks = {a.get(), b.get(), c.get()};
  Prepare(ranks);
  for (ThreadTrainer* rank : ranks) rank->Send(Order(60));
  for (ThreadTrainer* rank : ranks) EXPECT_EQ(rank->AwaitJoined().error(), "");
  v1alpha1::ToTrainer save;
  save.mutable_save();
  c->Send(save);
  const auto stalled = c->outbox().Await(v1alpha1::FromTrainer::kStalled);
  EXPECT_THAT(stalled.stalled().error(), HasSubstr("nothing is new"));
}

TEST_F(TrainerLinksTest, ATestOfRanksThatAreNotThereIsRefused) {
  auto a = Start();
  Prepare({a.get()});
  a->Send(Order(0));
  EXPECT_THAT(a->AwaitJoined().error(), HasSubstr("the link test names rank 1"));
}

}  // namespace
}  // namespace muster::trainer
