#ifndef MUSTER_OPERATOR_APP_OPERATOR_APP_H_
#define MUSTER_OPERATOR_APP_OPERATOR_APP_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "operator/app/operator_options.h"
#include "operator/coordinator/identity/coordinator_identity.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/kube/api.h"

namespace muster::control {

// The assembled operator: caches over `api`, work queue, controller, scheduler, coordinator and
// HTTP server. Both `muster-operator` and `muster run` run it.
//
//   MUSTER_ASSIGN_OR_RETURN(auto app, OperatorApp::Create(api, Clock::Real(), options));
//   MUSTER_RETURN_IF_ERROR(app->Start());
//   ...
//   app->Stop();
//
// Create, Start and Stop are called by one thread; everything else is thread-safe after Start.
// `api` and `clock` must outlive it. Stop neither stops workers nor writes to jobs: another
// operator takes over, at once if this one released its lease.
class OperatorApp {
 public:
  static absl::StatusOr<std::unique_ptr<OperatorApp>> Create(kube::Api& api, const Clock& clock,
                                                             OperatorOptions options);
  ~OperatorApp();

  // Binds the addresses, starts the loops and returns when the caches have synced. Without an
  // election it leads from then on, else it is a candidate.
  absl::Status Start();
  // Accepts no new work, waits for running reconciles, closes streams and servers.
  void Stop();

  bool IsLeading() const;
  // Not OK after the lease was lost.
  absl::Status lost() const;

  // The address that agents dial, e.g. "unix:/tmp/muster-0/1f.sock".
  std::string coordinator_address() const;
  // "127.0.0.1:41234" or "unix:/path"; empty if there is no such server.
  std::string http_address() const;
  std::string probe_address() const;

  // The newest reports of agents, and recent steps, for progress lines and summaries.
  AgentRegistry& agents();
  // Null if the coordinator serves only unix sockets.
  const CoordinatorIdentity* coordinator_identity() const;
  ProgressBoard& progress();

 private:
  class Impl;
  explicit OperatorApp(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_OPERATOR_APP_H_
