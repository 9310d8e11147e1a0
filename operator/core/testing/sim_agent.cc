#include "operator/core/testing/sim_agent.h"

#include <utility>
#include <variant>

#include "operator/core/state/round_stamp.h"
#include "operator/core/state/tuned_steps.h"

namespace muster::control {
namespace {

constexpr absl::Duration kStart = absl::Milliseconds(200);
constexpr absl::Duration kUnwind = absl::Milliseconds(20);

}  // namespace

SimAgent::SimAgent(int index_in, int incarnation_in, std::string pod_uid_in, int rank_count)
    : ranks(rank_count),
      index(index_in),
      incarnation(incarnation_in),
      pod_uid(std::move(pod_uid_in)) {}

void SimAgent::Prepare(const PrepareOrder& order, absl::Time now) {
  if (order.round == round && phase == Phase::kPreparing) return;
  if (order.round <= seen || stop_wanted) {
    ++refused;
    return;
  }
  seen = round = order.round;
  place = order.place;
  membership = order.membership;
  trajectory = order.trajectory;
  tunings.clear();
  if (order.spec != nullptr) tunings = TuningsOf(*order.spec, {});
  phase = Phase::kPreparing;
  phase_since = now;
  ready.reset();
  joined.reset();
  finished.reset();
  go.reset();
  for (SimRank& rank : ranks) {
    if (order.fresh) ++fresh_starts;
    if (order.fresh || !rank.alive) rank = SimRank{true};
    rank.ready_at = now + (rank.joined_once ? kUnwind : kStart);
  }
}

void SimAgent::Obey(const Order& order, absl::Time now) {
  if (phase == Phase::kExited) return;
  if (const auto* prepare = std::get_if<PrepareOrder>(&order.what)) return Prepare(*prepare, now);
  if (const auto* go_order = std::get_if<GoOrder>(&order.what)) {
    if (ToStamp(go_order->go->round()) != round || !ready || stop_wanted) {
      ++refused;
    } else if (phase == Phase::kPreparing) {
      go = *go_order->go;
      phase = Phase::kJoining;
      phase_since = now;
    }
    return;
  }
  if (const auto* tune = std::get_if<TuneOrder>(&order.what)) {
    if (tune->round == round && phase == Phase::kRunning) {
      tunings = *tune->tunings;
    } else {
      ++refused;
    }
    return;
  }
  if (const auto* stop = std::get_if<StopOrder>(&order.what)) {
    if (stop->round < seen) {
      ++refused;
      return;
    }
    seen = stop->round;
    stop_wanted = true;
    save_wanted = stop->save;
    if (!stop->save || phase != Phase::kRunning) phase = Phase::kExited;
  }
}

void SimAgent::RunOnce(absl::Time now) {
  last_heard_ = attached ? now : last_heard_;
  if (now >= lag_until_) heard_.reset();
  if (stop_wanted && phase == Phase::kWaiting) phase = Phase::kExited;
  if (phase != Phase::kPreparing || ready) return;
  ReadyReport report{round, {}};
  for (int i = 0; i < static_cast<int>(ranks.size()); ++i) {
    SimRank& rank = ranks[i];
    if (!rank.alive || now < rank.ready_at) return;
    v1alpha1::RankReady item;
    item.set_local_rank(i);
    item.set_endpoint(i == 0 ? "host:1" : "");
    *item.mutable_position() = rank.position;
    report.ranks.push_back(std::move(item));
  }
  ready = std::move(report);
}

void SimAgent::KillRank(int local_rank, int exit_code, absl::Time now, bool restart,
                        const std::string& log) {
  SimRank& rank = ranks[local_rank];
  if (!rank.alive || phase == Phase::kExited || phase == Phase::kFinished) return;
  rank = SimRank{restart};
  rank.ready_at = now + kStart;
  ExitReport report;
  report.round = round;
  report.local_rank = local_rank;
  report.exit_code = exit_code;
  report.signal = exit_code > 128 ? exit_code - 128 : 0;
  report.restarted = restart;
  report.reason = report.signal != 0 ? "Signaled" : "Exited";
  report.log_tail = log;
  exits_.push_back(report);
  if (phase != Phase::kPreparing || ready) phase = Phase::kWaiting;
}

void SimAgent::Stall(absl::Time now) {
  if (phase != Phase::kRunning && phase != Phase::kJoining) return;
  phase = Phase::kWaiting;
  phase_since = now;
  StallReport report;
  report.round = round;
  report.error = "a peer is gone";
  stalls_.push_back(report);
}

void SimAgent::Finish(bool succeeded, int64_t step, int64_t durable) {
  finished.emplace();
  finished->round = round;
  finished->succeeded = succeeded;
  finished->version.set_step(step);
  finished->durable_step = durable;
  phase = stop_wanted ? Phase::kExited : Phase::kFinished;
}

void SimAgent::Attach(absl::Time now) {
  attached = true;
  heard_.reset();  // a new stream repeats every report
  ++session_;
  attached_at_ = last_heard_ = now;
  hello_seen_ = seen;
  hello_active_ = phase == Phase::kRunning ? round : RoundStamp{};
  hello_first_rank_ = phase == Phase::kRunning ? place.member.first_rank() : 0;
}

void SimAgent::Detach(absl::Time now) {
  attached = false;
  detached_at_ = now;
}

void SimAgent::Lag(absl::Time until) {
  if (!heard_) heard_ = View();
  lag_until_ = until;
}

AgentView SimAgent::View() const {
  if (heard_ && attached) return *heard_;
  AgentView view;
  view.index = index;
  view.incarnation = incarnation;
  view.pod_uid = pod_uid;
  view.attached = attached;
  view.session = session_;
  view.attached_at = attached_at_;
  view.detached_at = detached_at_;
  view.last_heard = last_heard_;
  view.ranks = static_cast<int>(ranks.size());
  view.seen = hello_seen_;
  view.active = hello_active_;
  view.first_rank = hello_first_rank_;
  if (!attached) return view;
  view.ready = ready;
  view.joined = joined;
  view.finished = finished;
  view.exits = exits_;
  view.stalls = stalls_;
  return view;
}

}  // namespace muster::control
