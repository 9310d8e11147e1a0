// Tests rounds of runs that begin with given weights.

#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/tensor.h"
#include "absl/status/status.h"
#include "base/exit_codes.h"
#include "base/mutex.h"
#include "gtest/gtest.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"
#include "trainer/model/partition.h"

namespace muster::trainer {
namespace {

// Weights of one value, and a count of how often they were asked for.
class SameWeights final : public InitialWeights {
 public:
  const char* field() const override { return "trainer.model.uri"; }
  absl::Status Open() override {
    MutexLock lock(mu_);
    ++opened_;
    return fault_;
  }
  absl::Status Fill(const std::string&, const std::vector<int64_t>&, int64_t,
                    at::Tensor elements) override {
    elements.fill_(0.25);
    return absl::OkStatus();
  }
  void SetFault(const absl::Status& fault) {
    MutexLock lock(mu_);
    fault_ = fault;
  }
  int opened() {
    MutexLock lock(mu_);
    return opened_;
  }

 private:
  Mutex mu_;
  absl::Status fault_ MUSTER_GUARDED_BY(mu_);
  int opened_ MUSTER_GUARDED_BY(mu_) = 0;
};

class TrainerInitialTest : public TrainerTest {
 protected:
  TrainerInitialTest() { initial_ = &weights_; }

  SameWeights weights_;
};

TEST_F(TrainerInitialTest, EveryRankBeginsWithThemAndNoneReadsThemAgain) {
  settings_.steps = 1 << 20;
  const auto a = Start(), b = Start();
  const std::vector<ThreadTrainer*> both = {a.get(), b.get()};
  for (ThreadTrainer* rank : both) rank->feed().HoldAt(1);
  Prepare(both);
  Go(both, Fresh(1));
  for (ThreadTrainer* rank : both) rank->feed().AwaitHeld();
  for (ThreadTrainer* rank : both) {
    for (const NamedTensor& parameter : rank->state().Parameters()) {
      EXPECT_TRUE(parameter.tensor.eq(0.25).all().item<bool>()) << parameter.name;
    }
  }
  EXPECT_EQ(weights_.opened(), 2);
  for (ThreadTrainer* rank : both) rank->feed().Release();
  weights_.SetFault(absl::NotFoundError("/hf: no such directory"));
  const std::vector<v1alpha1::RankPosition> live = Prepare({a.get()});
  ASSERT_TRUE(live[0].has_applied());
  Go({a.get()}, Live(live[0], 2));
  EXPECT_EQ(weights_.opened(), 2);
}

// Numbers the elements of every tensor.
class NumberedWeights final : public InitialWeights {
 public:
  const char* field() const override { return "trainer.model.uri"; }
  absl::Status Open() override { return absl::OkStatus(); }
  absl::Status Fill(const std::string&, const std::vector<int64_t>&, int64_t begin,
                    at::Tensor elements) override {
    elements.copy_(at::arange(begin, begin + elements.numel(), at::kFloat));
    return absl::OkStatus();
  }
};

TEST_F(TrainerInitialTest, ARankTakesItsPartOfTheModel) {
  NumberedWeights weights;
  initial_ = &weights;
  options_.parts = 2;
  settings_.local_rank = 1;
  const auto second = Start();
  settings_.local_rank = 0;
  const auto first = Start();
  const std::vector<ThreadTrainer*> both = {first.get(), second.get()};
  for (ThreadTrainer* rank : both) rank->feed().HoldAt(1);
  Prepare(both);
  Go(both, Fresh(1));
  for (ThreadTrainer* rank : both) rank->feed().AwaitHeld();
  for (ThreadTrainer* rank : both) {
    for (const TensorPart& part : rank->state().ValueParts()) {
      std::vector<float> numbers;
      for (const ElementRun& run : RunsOfPart(part.shape, part.partition, part.part)) {
        for (int64_t i = 0; i < run.count; ++i) {
          numbers.push_back(static_cast<float>(run.begin + i));
        }
      }
      const at::Tensor want = at::tensor(numbers, at::kFloat);
      EXPECT_TRUE(at::equal(part.elements, want)) << part.name;
    }
    rank->feed().Release();
  }
}

TEST_F(TrainerInitialTest, ARunThatGoesOnFromACheckpointDoesNotReadThem) {
  settings_.steps = 5;
  {
    const auto a = Start();
    Prepare({a.get()});
    Go({a.get()}, Fresh(1));
    EXPECT_TRUE(a->AwaitFinished().succeeded());
  }
  weights_.SetFault(absl::NotFoundError("/hf: no such directory"));
  settings_.steps = 6;
  const auto b = Start();
  const auto positions = Prepare({b.get()});
  Go({b.get()}, FromCheckpoint(positions[0].checkpoints(0), 2));
  EXPECT_TRUE(b->AwaitFinished().succeeded());
  EXPECT_EQ(weights_.opened(), 1);
}

TEST_F(TrainerInitialTest, OnesThatAreNotThereAreBadInput) {
  weights_.SetFault(absl::NotFoundError("/hf: no such directory"));
  const auto a = Start();
  Prepare({a.get()});
  a->Go(round_, Fresh(1));
  const v1alpha1::TrainerFinished finished = a->AwaitFinished();
  EXPECT_FALSE(finished.succeeded());
  EXPECT_EQ(finished.message(), "trainer.model.uri: /hf: no such directory");
  a->Kill();
  EXPECT_EQ(a->exit_code(), kExitBadInput);
}

// A trainer that had its end among orders that had waited for it took the next order all the same,
// and waited for ever.
TEST_F(TrainerInitialTest, AnEndAmongOrdersThatWaitedIsTheEnd) {
  settings_.steps = 1 << 20;
  const auto a = Start();
  a->feed().HoldAt(1);
  Prepare({a.get()});
  Go({a.get()}, Fresh(1));
  a->feed().AwaitHeld();
  weights_.SetFault(absl::NotFoundError("/hf: no such directory"));
  a->Prepare(++round_, 0, 1);
  a->Go(round_, Fresh(2));
  a->feed().Release();
  EXPECT_FALSE(a->AwaitFinished().succeeded());
  a->AwaitEnd();
  EXPECT_EQ(a->exit_code(), kExitBadInput);
}

TEST_F(TrainerInitialTest, AFileSystemThatFailsEndsTheRoundOnly) {
  settings_.steps = 5;
  weights_.SetFault(absl::UnavailableError("/hf: input/output error"));
  const auto a = Start();
  Prepare({a.get()});
  a->Go(round_, Fresh(1));
  EXPECT_EQ(a->AwaitJoined().error(), "trainer.model.uri: /hf: input/output error");
  weights_.SetFault(absl::OkStatus());
  EXPECT_FALSE(Prepare({a.get()})[0].has_applied());
  Go({a.get()}, Fresh(2));
  EXPECT_TRUE(a->AwaitFinished().succeeded());
}

}  // namespace
}  // namespace muster::trainer
