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
#include "trainer/parallel/slices.h"

namespace muster {

// The number of faults that may happen in one run.
struct Trouble {
  int deaths = 0;      // of rank processes; a fresh process may replace each
  int partitions = 0;  // a rank keeps running while cut off and may return later: a zombie
  int operator_restarts = 0;
  int extra_rounds = 0;  // opened although nothing is wrong
  int losses = 0;  // of workers, with all that is in their memory; a fresh one may replace each
  int failed_writes = 0;  // updates that a disk refuses, which leave the weights as they were
};

// The kind of job that is modelled.
struct JobKind {
  int shard = 1;          // ranks that divide the state, as in spec.trainer.parallelism
  bool confirms = false;  // the optimizer prepares its update, and the ranks confirm it
  bool copies = false;    // each rank copies every step into memory that outlives its process
  bool replicas = false;  // and the next rank's worker keeps replicas of the copies
};

// A small model of a job: ranks with the real CommitMachine, an operator with the real
// DecideResume, and messages and collectives that take any time. Weights are modelled by the
// history of updates that made them; where ranks divide them, each holds a slice of all. A
// CommitWorld is a value: Actions() lists what may happen next; Do() performs one action and
// returns the promise that it broke, if any.
class CommitWorld {
 public:
  using Decider = v1alpha1::ResumePoint (*)(const std::vector<v1alpha1::RankPosition>& positions,
                                            int64_t round);
  // `decide` is the operator's decision. Tests pass wrong ones to show that broken promises are
  // noticed.
  CommitWorld(int ranks, int steps, const Trouble& trouble, const JobKind& kind = {},
              Decider decide = &Decide);

  static v1alpha1::ResumePoint Decide(const std::vector<v1alpha1::RankPosition>& positions,
                                      int64_t round);

  // An action is a kind and the rank it concerns (0 where it concerns none).
  enum class Kind {
    kDeliver,    // the rank reads its next order
    kReceive,    // what this rank needs of others' slices arrives
    kBeginStep,  // computes, and contributes its gradients to the reduction
    kSeal,       // the reduction completes on this rank
    kSendVote,
    kSeeVote,  // the vote completes on this rank
    kPrepareUpdate,
    kSendConfirm,
    kSeeConfirm,  // the confirmation completes on this rank
    kBeginApply,
    kEndApply,
    kAbandonApply,
    kBeginCopies,  // the comparison with the others completes on this rank
    kEndCopy,      // the rank's newest copy is complete
    kSendReplica,  // that copy is whole at its keeper
    kDie,
    kLose,
    kReturn,  // a fresh process replaces a dead one
    kPartition,
    kHeal,
    kOpenRound,
    kSendGo,  // to the next member; the operator decides before the first one
    kRestartOperator,
  };
  struct Action {
    Kind kind;
    int rank = 0;
  };
  static std::string Name(const Action& action);

  std::vector<Action> Actions() const;
  // Performs the action. Returns the broken promise, or an empty string.
  std::string Do(const Action& action);
  // Checks a world in which no action is left: returns an empty string if training finished, else
  // what is stuck.
  std::string CheckEnd() const;
  // Equal worlds have equal keys.
  std::string Key() const;

 private:
  // Weights are identified by the updates that made them: pairs of a step and the round that
  // computed it.
  using History = std::vector<std::pair<int64_t, int64_t>>;

  struct Order {
    v1alpha1::RoundId round;
    std::vector<int> members;
    std::shared_ptr<const v1alpha1::ResumePoint>
        go;  // null for Prepare; shared by copies of the world
  };
  struct MemoryCopy {
    v1alpha1::Version version;
    History weights;
    trainer::Shard slice;
    bool complete = false;
    bool sent = false;  // it is whole at the keeper of this round
  };
  struct Rank {
    bool alive = true, heard = true;
    trainer::CommitMachine machine;
    std::shared_ptr<const v1alpha1::ResumePoint> resume;
    History weights, sealed_weights;
    History prepared_weights;        // what the prepared update leads to
    trainer::Shard slice;            // what it holds of `weights`
    bool arrived = false;            // has the resume point's version of its slice, and sends of it
    bool waiting = false;            // for parts of its slice in this round
    bool in_round = false;           // restored in machine.round()
    bool stepping = false;           // saw that all ranks of the round have restored
    std::vector<Order> orders;       // sent and not yet delivered
    std::vector<MemoryCopy> copies;  // oldest first; only the newest may be incomplete
    bool copied_in_round = false;
    bool copies_begun = false;         // in this round, in which all have restored
    bool lost = false;                 // its worker is gone
    std::vector<MemoryCopy> replicas;  // that its worker keeps, oldest first
    int keeps_of = -1;                 // the rank whose replicas those are
  };
  // Counts the collectives of a round that each member has contributed to.
  struct Collectives {
    v1alpha1::RoundId round;
    std::vector<int> members;
    std::vector<int> given;  // by world rank
    bool started = false;    // some member saw that all have restored
    History agreed;
  };
  struct Committed {
    History weights;
    uint32_t holders = 0;
  };
  enum class Phase { kIdle, kPreparing, kGoing };

  bool CanDo(const Action& action) const;
  std::string DoInStep(Kind kind, Rank& rank, int index);
  std::string Deliver(Rank& rank, int index);
  std::string Restore(Rank& rank, int index, const Order& order);
  std::string Arrive(Rank& rank, int index);
  // Returns the parts of its new slice that a rank gets from others, and whether they are all.
  struct Donor {
    int rank = 0;
    const MemoryCopy* stored = nullptr;  // that the donor reads; null: it holds the part itself
  };
  struct Needs {
    std::vector<Donor> donors;
    bool complete = true;
  };
  bool CanReceiveFrom(const Donor& donor, const Rank& rank) const;
  Needs NeedsOf(const Rank& rank, int index) const;
  trainer::Shard WantedSlice(const Collectives& round, int index) const;
  v1alpha1::RankPosition PositionOf(const Rank& rank) const;
  // Returns true if the slices of these ranks, a bit mask, cover all.
  bool Cover(uint32_t ranks) const;
  std::string Enter(Rank& rank, int index);
  std::string Receive(Rank& rank, int index);
  void BeginCopy(Rank& rank);
  void BeginCopies(Rank& rank);
  static const MemoryCopy* FindCopy(const std::vector<MemoryCopy>& copies,
                                    const v1alpha1::Version& version);
  static const MemoryCopy* FindStored(const Rank& rank, const v1alpha1::Version& version,
                                      const trainer::Shard& slice);
  // Returns the rank whose worker keeps the replicas of this one's copies; -1: none.
  int KeeperOf(const Rank& rank, int index) const;
  bool AwaitsReplica(const Rank& rank, int index) const;
  bool CanSendReplica(const Rank& rank, int index) const;
  void SendReplica(Rank& rank, int index);
  std::string LoadCopy(Rank& rank, int index);
  Rank AfterDeath(const Rank& dead) const;
  std::string CheckRedone(const History& weights) const;
  std::string EndApply(Rank& rank, int index);
  std::string AbandonApply(Rank& rank, int index);
  std::string SendGo();
  void OpenRound();
  void RestartOperator();
  void Die(int index);
  void Lose(int index);
  // Counts what this rank holds of committed weights as lost.
  void GiveUp(int index);

  Collectives* Find(const v1alpha1::RoundId& round);
  const Collectives* Find(const v1alpha1::RoundId& round) const;
  bool Complete(const Rank& rank) const;
  void Give(const Rank& rank, int index);
  // Returns true if the round is the operator's newest, or a rank is in it or has an order of it
  // pending.
  bool IsInUse(const Collectives& round) const;
  std::vector<int> Wanted() const;
  std::string Agree(Collectives& round, const Rank& rank);
  std::string CheckVersions() const;
  std::string Commit(const History& weights, uint32_t holders);

  Rank NewRank() const;

  const int steps_;
  const JobKind kind_;
  const Decider decide_;
  Trouble left_;
  std::vector<Rank> ranks_;
  std::vector<Collectives> collectives_;
  std::vector<Committed> committed_;
  std::vector<std::pair<History, uint32_t>> applied_by_;
  // The most steps that were committed, in what the job goes on from.
  size_t most_committed_ = 0;

  // State of the operator. Only id_ is persisted (write-ahead); the rest is lost when it restarts.
  v1alpha1::RoundId id_;
  int64_t term_ = 1;
  std::vector<int> members_;
  Phase phase_ = Phase::kIdle;
  bool changed_ = true;  // the membership changed, or the operator restarted
  std::vector<std::pair<int, v1alpha1::RankPosition>> positions_;
  std::shared_ptr<const v1alpha1::ResumePoint> resume_;
  size_t go_sent_ = 0;
};

}  // namespace muster

#endif  // MUSTER_TESTS_SIMULATION_COMMIT_WORLD_H_
