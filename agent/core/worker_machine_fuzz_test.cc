// Feeds random events to the machine, checks its invariants (in World, at every action), and checks
// that it always comes to an end.
#include <csignal>
#include <random>

#include "absl/time/time.h"
#include "agent/core/worker_machine.h"
#include "agent/core/worker_machine_test_util.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

class Storm {
 public:
  explicit Storm(unsigned seed) : random_(seed), trainer_(seed % 3 != 0) {}

  void Run() {
    for (int i = 0; i < 400 && !world_.exited(); ++i) {
      Step();
      if (testing::Test::HasFatalFailure()) return;
    }
    End();
  }

 private:
  int Random(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  v1alpha1::RoundId NearRound() { return Round(term_ - Random(2), round_ - Random(3)); }

  void Step() {
    switch (Random(16)) {
      case 0:
        return world_.Do(StreamClosed{});
      case 1:
        term_ += Random(2);
        return world_.Welcome(term_ - (Random(8) == 0), Random(2) ? "Shrink" : "RestartRank",
                              trainer_);
      case 2:
      case 3:
        return world_.Prepare(term_, round_ += Random(2));
      case 4:
        return world_.Prepare(NearRound().term(), NearRound().round());
      case 5:
      case 6:
        return world_.Go(term_, round_ - (Random(4) == 0));
      case 7:
        return world_.Do(PortReserved{Round(term_, round_), 1000 + Random(100)});
      case 8:
        return EndSome();
      case 9:
        return world_.Do(RankLinkClosed{Random(2), world_.generation(Random(2))});
      case 10:
        if (Random(40) == 0) return world_.Stop(term_, round_, Random(2) == 0);
        return world_.EndKilled();
      case 11:
        return world_.Pass(absl::Milliseconds(100 * Random(20)), {Random(2)});
      default:
        return RankTalks();
    }
  }

  void EndSome() {
    const int rank = Random(2);
    if (world_.alive(rank)) world_.End(rank, Random(3) == 0 ? 0 : 1 + Random(120));
  }

  void RankTalks() {
    const int rank = Random(2);
    const v1alpha1::RoundId round = Random(4) == 0 ? NearRound() : Round(term_, round_);
    switch (Random(6)) {
      case 0:
        return world_.Hello(rank);
      case 1:
      case 2:
        return world_.Ready(rank, round);
      case 3:
        return world_.Joined(rank, round, Random(8) == 0 ? "no" : "");
      case 4:
        return world_.Heartbeat(rank);
      default:
        if (Random(10) == 0) return world_.Finished(rank, Random(4) != 0);
    }
  }

  // A signal, an order or a missing operator ends it in bounded time, whatever its state.
  void End() {
    switch (Random(3)) {
      case 0:
        world_.Do(Terminate{SIGTERM});
        break;
      case 1:
        world_.Welcome(term_ + 1, "Shrink", trainer_);
        world_.Stop(term_ + 1, round_, true);
        break;
      default:
        world_.Do(StreamClosed{});
    }
    for (int i = 0; i < 2000 && !world_.exited(); ++i) {
      world_.Pass(absl::Milliseconds(100), {0, 1});
      world_.EndKilled(/*ignore_term=*/i % 2 == 0);
    }
    EXPECT_TRUE(world_.exited());
  }

  std::mt19937 random_;
  const bool trainer_;
  World world_;
  int64_t term_ = 1;
  int64_t round_ = 1;
};

TEST(WorkerMachineFuzzTest, InvariantsHoldAndItAlwaysEnds) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Storm(seed).Run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster::agent
