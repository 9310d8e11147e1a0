#include "agent/core/worker_settings.h"

#include <algorithm>

#include "base/backoff.h"

namespace muster::agent {
namespace {

absl::Duration ParseOr(const std::string& text, absl::Duration otherwise) {
  absl::Duration duration;
  return absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration() ? duration
                                                                                 : otherwise;
}

absl::Duration SecondsOr(double seconds, absl::Duration otherwise) {
  return seconds > 0 ? absl::Seconds(seconds) : otherwise;
}

}  // namespace

void SetPodGrace(absl::Duration grace, WorkerConfig& config) {
  const auto less = [&](absl::Duration rest) { return std::max(grace - rest, grace / 2); };
  // Saved and told to end, ranks still have their grace, and the agent reports.
  config.signal_save_deadline = less(3 * config.term_grace);
  config.command_grace = less(config.term_grace);
}

WorkerSettings ReadWelcome(const v1alpha1::Welcome& welcome, const WorkerConfig& config) {
  WorkerSettings settings;
  settings.spec = welcome.spec();
  const v1alpha1::ElasticSpec& elastic = welcome.spec().elastic();
  settings.heartbeat = SecondsOr(welcome.heartbeat_seconds(), absl::Seconds(1));
  settings.orphan_deadline = SecondsOr(welcome.orphan_deadline_seconds(),
                                       ParseOr(elastic.orphan_deadline(), config.orphan_deadline));
  settings.rank_deadline = ParseOr(elastic.rank_deadline(), absl::Seconds(10));
  // An operator that sends no deadline waits for 60 s.
  settings.prepare_deadline = SecondsOr(welcome.prepare_deadline_seconds(), absl::Seconds(60));
  settings.restart_rank = welcome.spec().failure_policy().on_rank_failure() != "Shrink";
  const v1alpha1::FailurePolicySpec& policy = welcome.spec().failure_policy();
  settings.restart_backoff = {
      std::max(kShortestRetry, ParseOr(policy.initial_backoff(), absl::Seconds(1))),
      std::max(kShortestRetry, ParseOr(policy.max_backoff(), absl::Minutes(1)))};
  return settings;
}

}  // namespace muster::agent
