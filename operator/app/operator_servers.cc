#include "operator/app/operator_servers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/files/files.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"
#include "operator/app/start_retry.h"
#include "operator/coordinator/identity/refusals.h"
#include "operator/nodes/authority_config.h"
#include "operator/nodes/node_agent_directory.h"
#include "operator/reconcile/pod/pod_builder.h"
#include "operator/reconcile/view/worker_directory.h"
#include "operator/scheduler/record/decision_ring.h"
#include "operator/web/web_deps.h"

namespace muster::control {
namespace {

std::function<absl::StatusOr<DecisionRecord>(uint64_t)> DecisionsOf(
    const OperatorOptions& options) {
  if (options.decision_log_dir.empty()) return nullptr;
  return [directory = options.decision_log_dir](uint64_t id) {
    return FindDecision(FileSystem(), directory, id);
  };
}

}  // namespace

OperatorServers::OperatorServers(Replica& replica, const Clock& clock,
                                 const OperatorOptions& options)
    : replica_(replica), clock_(clock), options_(options) {}

absl::Status OperatorServers::CreateIdentity() {
  CoordinatorIdentityOptions options;
  options.operator_namespace = options_.operator_namespace;
  options.find_worker = [this](const ReviewedPod& pod) {
    return FindWorkerOfPod(replica_.jobs(), replica_.pods(), pod);
  };
  options.find_node = [this](const ReviewedPod& pod) {
    return FindNodeOfPod(options_.node_agents, replica_.pods(), pod);
  };
  const auto create = [&]() -> absl::Status {
    MUSTER_ASSIGN_OR_RETURN(identity_,
                            CoordinatorIdentity::Create(replica_.observed_api(), clock_, options));
    return absl::OkStatus();
  };
  return RetryAtStart(clock_, create, absl::SleepFor);
}

absl::Status OperatorServers::StartCoordinator() {
  const std::vector<std::string>& addresses = options_.coordinator_addresses;
  if (addresses.empty()) {
    return absl::InvalidArgumentError("the operator needs an address for its coordinator");
  }
  if (NeedsIdentity(options_.http) ||
      !std::all_of(addresses.begin(), addresses.end(), IsUnixAddress)) {
    MUSTER_RETURN_IF_ERROR(CreateIdentity());
  }
  MUSTER_ASSIGN_OR_RETURN(coordinator_,
                          CoordinatorServer::Start(addresses, replica_.registry(), identity_.get(),
                                                   &replica_.node_board()));
  coordinator_address_ = options_.advertised_coordinator.empty() ? coordinator_->addresses().front()
                                                                 : options_.advertised_coordinator;
  const std::string dialed =
      options_.pod_coordinator.empty() ? coordinator_address_ : options_.pod_coordinator;
  PodBuilderOptions pods{dialed, options_.worker_image, options_.agent_image};
  pods.worker_env = options_.worker_env;
  if (identity_ != nullptr && !IsUnixAddress(dialed)) {
    pods.containers = true;
    pods.worker_pull_policy = options_.worker_pull_policy;
    pods.agent_pull_policy = options_.agent_pull_policy;
    pods.pull_secrets = options_.pull_secrets;
    pods.coordinator_ca = identity_->authority_pem();
    if (options_.election) {
      pods.coordinator_silence = absl::FormatDuration(options_.election->lease_duration / 2);
    }
  }
  containers_ = pods.containers;
  replica_.Connect(pods, coordinator_address_);
  if (identity_ != nullptr && !options_.node_agents.empty()) {
    PublishAuthority(replica_.observed_api(), options_.node_agents.ns, identity_->authority_pem())
        .IgnoreError();  // it logs its own errors
  }
  return absl::OkStatus();
}

absl::Status OperatorServers::Start() {
  MUSTER_RETURN_IF_ERROR(StartCoordinator());
  const WebDeps deps = {replica_.fenced_api(),
                        replica_.jobs(),
                        replica_.pods(),
                        replica_.nodes(),
                        replica_.registry(),
                        replica_.progress(),
                        replica_.controller(),
                        replica_.scheduler(),
                        replica_.queue(),
                        replica_.metrics(),
                        [this] { return replica_.HasSynced(); },
                        [this] { return Leader(); },
                        [this] { return Refusals(); },
                        [this] { return Certificates(); },
                        DecisionsOf(options_),
                        containers_};
  MUSTER_ASSIGN_OR_RETURN(http_, HttpServers::Open(options_.http, deps, replica_.observed_api(),
                                                   clock_, identity_.get()));
  return absl::OkStatus();
}

std::map<std::string, int64_t> OperatorServers::Refusals() const {
  std::map<std::string, int64_t> by_reason;
  if (identity_ == nullptr) return by_reason;
  const IdentityCounters counters = identity_->counters();
  for (size_t i = 0; i < counters.refused.size(); ++i) {
    by_reason[std::string(Name(static_cast<Refusal>(i)))] = counters.refused[i];
  }
  return by_reason;
}

std::map<std::string, absl::Time> OperatorServers::Certificates() const {
  if (identity_ == nullptr) return {};
  return {{"authority", identity_->authority_not_after()},
          {"serving", identity_->serving_not_after()}};
}

LeaderView OperatorServers::Leader() const {
  LeaderView view;
  view.leading = replica_.IsLeading();
  view.identity = options_.identity;
  view.holder = replica_.lease_holder();
  view.lease_term = replica_.lease_term();
  view.lost = std::string(replica_.lost().message());
  return view;
}

void OperatorServers::StopCoordinator() {
  if (coordinator_ != nullptr) coordinator_->Stop();
}

void OperatorServers::CloseHttp() {
  if (http_ != nullptr) http_->Close();
}

}  // namespace muster::control
