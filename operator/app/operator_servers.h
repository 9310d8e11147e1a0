#ifndef MUSTER_OPERATOR_APP_OPERATOR_SERVERS_H_
#define MUSTER_OPERATOR_APP_OPERATOR_SERVERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/app/http_servers.h"
#include "operator/app/operator_options.h"
#include "operator/app/replica.h"
#include "operator/coordinator/coordinator_server.h"
#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// The servers of one operator: the coordinator for agents, and the HTTP servers for people and
// probes. Start, StopCoordinator and CloseHttp are called by one thread; the rest is
// thread-safe after Start. Replica, clock and options must outlive it.
class OperatorServers {
 public:
  OperatorServers(Replica& replica, const Clock& clock, const OperatorOptions& options);
  OperatorServers(const OperatorServers&) = delete;
  OperatorServers& operator=(const OperatorServers&) = delete;

  // Binds all addresses, and tells the replica at which one its workers find the coordinator.
  absl::Status Start();
  // Closes the agents' streams. Pages are served until CloseHttp.
  void StopCoordinator();
  void CloseHttp();

  std::string coordinator_address() const { return coordinator_address_; }
  std::string http_address() const { return http_ == nullptr ? "" : http_->address(); }
  std::string probe_address() const { return http_ == nullptr ? "" : http_->probe_address(); }
  // Null if all addresses are unix sockets, which need no certificates.
  const CoordinatorIdentity* identity() const { return identity_.get(); }

 private:
  absl::Status CreateIdentity();
  absl::Status StartCoordinator();
  LeaderView Leader() const;
  std::map<std::string, int64_t> Refusals() const;
  std::map<std::string, absl::Time> Certificates() const;

  Replica& replica_;
  const Clock& clock_;
  const OperatorOptions& options_;
  std::string coordinator_address_;
  bool containers_ = false;  // see PodBuilderOptions
  std::unique_ptr<CoordinatorIdentity> identity_;
  std::unique_ptr<CoordinatorServer> coordinator_;
  std::unique_ptr<HttpServers> http_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_OPERATOR_SERVERS_H_
