#ifndef MUSTER_OPERATOR_CORE_TESTING_SIM_AGENT_H_
#define MUSTER_OPERATOR_CORE_TESTING_SIM_AGENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/view.h"

// A worker agent with its ranks, as the scenario tests need it: it obeys orders as the real one
// does, and keeps positions by the rules of the commit vote. SimWorld drives the steps of its
// round.
namespace muster::control {

struct SimRank {
  bool alive = false;
  bool joined_once = false;
  absl::Time ready_at = absl::InfiniteFuture();  // when it answers Prepare
  v1alpha1::RankPosition position;
};

class SimAgent {
 public:
  enum class Phase { kWaiting, kPreparing, kJoining, kRunning, kFinished, kExited };

  SimAgent(int index, int incarnation, std::string pod_uid, int ranks);

  void Obey(const Order& order, absl::Time now);
  // Lets rank processes become ready; a prepared worker answers.
  void RunOnce(absl::Time now);
  void KillRank(int local_rank, int exit_code, absl::Time now, bool restart,
                const std::string& log = "");
  void Stall(absl::Time now);
  // Holds its reports back until `until`; then they arrive all at once.
  void Lag(absl::Time until);
  // `durable` is the newest step that it knows to be on disk, -1 if none.
  void Finish(bool succeeded, int64_t step, int64_t durable);

  // Returns true if its first rank is rank 0 of its round.
  bool leads() const { return place.group_world_size > 0 && place.group_rank == 0; }
  // Returns what the coordinator has of it: everything reported on the current stream.
  AgentView View() const;
  const std::vector<ExitReport>& exits() const { return exits_; }
  const std::vector<StallReport>& stalls() const { return stalls_; }
  void Attach(absl::Time now);
  void Detach(absl::Time now);

  Phase phase = Phase::kWaiting;
  bool attached = false;
  RoundStamp seen;
  RoundStamp round;
  std::string membership;  // of `round`
  std::string trajectory;  // of `round`
  MemberPlace place;       // in `round`
  std::vector<SimRank> ranks;
  std::optional<v1alpha1::GoRound> go;
  std::vector<v1alpha1::Tuning> tunings;  // of the job, as its ranks know them
  absl::Time phase_since;
  bool stop_wanted = false;
  bool save_wanted = false;
  int refused = 0;
  int fresh_starts = 0;  // ranks restarted because a round began afresh
  const int index;
  const int incarnation;
  const std::string pod_uid;
  // The reports that a new stream repeats.
  std::optional<ReadyReport> ready;
  std::optional<JoinedReport> joined;
  std::optional<FinishedReport> finished;

 private:
  void Prepare(const PrepareOrder& order, absl::Time now);

  std::optional<AgentView> heard_;  // the view shown while it lags
  absl::Time lag_until_ = absl::InfinitePast();
  int64_t session_ = 0;
  absl::Time attached_at_ = absl::InfinitePast();
  absl::Time detached_at_ = absl::InfinitePast();
  absl::Time last_heard_ = absl::InfinitePast();
  RoundStamp hello_seen_;
  RoundStamp hello_active_;
  int hello_first_rank_ = 0;
  std::vector<ExitReport> exits_;
  std::vector<StallReport> stalls_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_SIM_AGENT_H_
