#ifndef MUSTER_TESTS_SIMULATION_COMMIT_WORLD_H_
#define MUSTER_TESTS_SIMULATION_COMMIT_WORLD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/commit_machine.h"

namespace muster {

// How much may go wrong in one run.
struct Trouble {
  int deaths = 0;      // of a rank's process; a fresh one may take its place
  int partitions = 0;  // a rank goes on unheard and comes back later: a zombie
  int operator_restarts = 0;
  int extra_rounds = 0;  // opened although nothing is wrong
};

// A small world of ranks, each with the real CommitMachine, and an operator with the real
// DecideResume, in which messages and collectives take any time they like. Weights are modelled by
// their whole history. A world is a value: Actions() lists what may happen next, Do() lets it
// happen, and says which promise it broke, if one.
class CommitWorld {
 public:
  using Decider = v1alpha1::ResumePoint (*)(const std::vector<v1alpha1::RankPosition>& positions,
                                            int64_t round);
  // `decide` is the operator's; a wrong one shows that the promises are watched.
  CommitWorld(int ranks, int steps, const Trouble& trouble, Decider decide = &Decide);

  static v1alpha1::ResumePoint Decide(const std::vector<v1alpha1::RankPosition>& positions,
                                      int64_t round);

  // An action is a kind and the rank it concerns (0 where it concerns none).
  enum class Kind {
    kDeliver,    // the rank reads its next order
    kReceive,    // the donor's state arrives
    kBeginStep,  // computes and gives its gradients to the reduction
    kSeal,       // the reduction completes on this rank
    kSendVote,
    kSeeVote,  // the vote completes on this rank
    kBeginApply,
    kEndApply,
    kDie,
    kReturn,  // a fresh process in the place of a dead one
    kPartition,
    kHeal,
    kOpenRound,
    kSendGo,  // to the next member; before the first, the operator decides
    kRestartOperator,
  };
  struct Action {
    Kind kind;
    int rank = 0;
  };
  static std::string Name(const Action& action);

  std::vector<Action> Actions() const;
  // Empty, or the broken promise.
  std::string Do(const Action& action);
  // Of a world without actions: whether training got to its end. Empty, or what is stuck.
  std::string CheckEnd() const;
  // Equal worlds have equal keys.
  std::string Key() const;

 private:
  // Weights are named by the updates that made them: their steps, and the rounds that computed
  // them.
  using History = std::vector<std::pair<int64_t, int64_t>>;

  struct Order {
    v1alpha1::RoundId round;
    std::vector<int> members;
    std::shared_ptr<const v1alpha1::ResumePoint>
        go;  // null: Prepare; shared by copies of the world
  };
  struct Rank {
    bool alive = true, heard = true;
    trainer::CommitMachine machine;
    std::shared_ptr<const v1alpha1::ResumePoint> resume;
    History weights, sealed_weights;
    bool in_round = false;      // restored in machine.round()
    bool stepping = false;      // saw that all ranks of the round are
    std::vector<Order> orders;  // on their way
  };
  // How many collectives of a round each of its members has given its part to.
  struct Collectives {
    v1alpha1::RoundId round;
    std::vector<int> members;
    std::vector<int> given;  // by world rank
    bool started = false;    // some member saw that all restored
    History agreed;
  };
  struct Committed {
    History weights;
    uint32_t holders = 0;
  };
  enum class Phase { kIdle, kPreparing, kGoing };

  bool CanDo(const Action& action) const;
  std::string Deliver(Rank& rank, int index);
  std::string Restore(Rank& rank, int index, const Order& order);
  std::string Enter(Rank& rank, int index);
  std::string Receive(Rank& rank, int index);
  std::string EndApply(Rank& rank, int index);
  std::string SendGo();
  void OpenRound();
  void RestartOperator();
  void Die(int index);

  Collectives* Find(const v1alpha1::RoundId& round);
  const Collectives* Find(const v1alpha1::RoundId& round) const;
  bool Complete(const Rank& rank) const;
  void Give(const Rank& rank, int index);
  // Whether anybody is in the round, or on the way to it.
  bool IsInUse(const Collectives& round) const;
  std::vector<int> Wanted() const;
  std::string Agree(Collectives& round, const Rank& rank);
  std::string CheckVersions() const;
  std::string Commit(const History& weights, uint32_t holders);

  const int steps_;
  const Decider decide_;
  Trouble left_;
  std::vector<Rank> ranks_;
  std::vector<Collectives> collectives_;
  std::vector<Committed> committed_;
  std::vector<std::pair<History, uint32_t>> applied_by_;

  // The operator. Its id is written ahead, the rest dies with it.
  v1alpha1::RoundId id_;
  int64_t term_ = 1;
  std::vector<int> members_;
  Phase phase_ = Phase::kIdle;
  bool changed_ = true;  // the membership, or a member broke off
  std::vector<std::pair<int, v1alpha1::RankPosition>> positions_;
  std::shared_ptr<const v1alpha1::ResumePoint> resume_;
  size_t go_sent_ = 0;
};

}  // namespace muster

#endif  // MUSTER_TESTS_SIMULATION_COMMIT_WORLD_H_
