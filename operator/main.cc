// muster-operator: watches TrainingJobs and keeps their workers running and in step.
//
// Start order:
//   0. before_main.cc: arrange the memory of TLS connections
//   1. block SIGTERM and SIGINT, so that all threads inherit that and only main receives them
//   2. flags; the limit of open files is raised, because each agent needs one
//   3. the API: a real server's, or with --state-dir the embedded one
//   4. the operator: coordinator and HTTP addresses are bound, caches sync, loops start; with
//      --leader-elect it is a candidate from here on
//   5. wait for SIGTERM or SIGINT
//   6. drain: running reconciles end, the lease is released, streams close; agents redial
// A lost lease ends the process at once, without 6.
//
// Exit codes: base/exit_codes.h.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/logging.h"
#include "base/process/stop_signals.h"
#include "base/status_macros.h"
#include "operator/app/flag_options.h"
#include "operator/app/operator_app.h"
#include "operator/app/operator_flags.h"
#include "operator/app/operator_options.h"
#include "operator/app/throttle_observer.h"
#include "operator/cost/price_table.h"
#include "operator/kube/api.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/request_observer.h"
#include "operator/kube/rest/rest_api.h"
#include "operator/limits.h"
#include "operator/notify/receivers.h"

namespace muster::control {
namespace {

absl::StatusOr<std::unique_ptr<kube::Api>> OpenEmbedded(const std::string& state_dir) {
  kube::MemoryApiOptions options;
  options.directory = state_dir + "/api";
  options.random = [engine = std::mt19937_64(std::random_device{}())]() mutable {
    return engine();
  };
  return kube::MemoryApi::Open(Clock::Real(), std::move(options));
}

absl::StatusOr<std::unique_ptr<kube::Api>> OpenApi(const OperatorFlags& flags,
                                                   kube::RequestObserver& requests) {
  if (!flags.state_dir.empty()) return OpenEmbedded(flags.state_dir);
  absl::StatusOr<kube::RestConfig> config =
      flags.kubeconfig.empty() ? kube::InClusterConfig()
                               : kube::LoadKubeconfig(flags.kubeconfig, flags.context);
  if (!config.ok()) return config.status();
  config->user_agent = "muster-operator";
  config->qps = flags.qps;
  config->burst = flags.burst;
  return kube::RestApi::Create(*std::move(config), &requests);
}

absl::Status Run(const OperatorFlags& flags, const StopSignals& signals) {
  RaiseLimits();
  ThrottleObserver throttle;
  MUSTER_ASSIGN_OR_RETURN(const auto api, OpenApi(flags, throttle));  // 3
  OperatorOptions options = ToOperatorOptions(flags);
  options.throttle = &throttle;
  if (!flags.alert_receivers.empty()) {
    MUSTER_ASSIGN_OR_RETURN(options.alert_receivers, LoadReceivers(flags.alert_receivers));
  }
  if (!flags.prices.empty()) {
    MUSTER_ASSIGN_OR_RETURN(options.prices, LoadPriceTable(flags.prices));
  }
  // A former leader ends before anything else: its remaining work belongs to the next leader.
  options.on_lost = [](const absl::Status& why) {
    std::fprintf(stderr, "muster-operator: the lease was lost: %s\n",
                 std::string(why.message()).c_str());
    _exit(kExitRefused);
  };
  MUSTER_ASSIGN_OR_RETURN(const auto app,
                          OperatorApp::Create(*api, Clock::Real(), std::move(options)));
  MUSTER_RETURN_IF_ERROR(app->Start());  // 4
  std::printf("coordinator %s\nhttp %s\nprobes %s\n", app->coordinator_address().c_str(),
              app->http_address().c_str(), app->probe_address().c_str());
  std::fflush(stdout);
  MUSTER_LOG(INFO, "stopping", {"signal", signals.Wait()});  // 5
  app->Stop();                                               // 6
  return absl::OkStatus();
}

std::string EnvironmentOf(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

int Main(int argc, char** argv) {
  LimitHeaps();
  const StopSignals signals;  // 1
  const absl::StatusOr<OperatorFlags> flags =
      ParseOperatorFlags({argv + 1, argv + argc}, EnvironmentOf);  // 2
  if (!flags.ok()) {
    std::fprintf(stderr, "muster-operator: %s\n%s", std::string(flags.status().message()).c_str(),
                 kOperatorUsage);
    return kExitBadInput;
  }
  if (flags->log_json) SetLogFormat(LogFormat::kJson);
  const absl::Status status = Run(*flags, signals);
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "muster-operator: %s\n", std::string(status.message()).c_str());
  if (absl::IsInvalidArgument(status)) return kExitBadInput;
  // Unavailable means that the state directory is in use, or that a real server cannot be reached.
  const bool taken = absl::IsUnavailable(status) && !flags->state_dir.empty();
  return absl::IsAlreadyExists(status) || taken ? kExitRefused : kExitFailed;
}

}  // namespace
}  // namespace muster::control

int main(int argc, char** argv) { return muster::control::Main(argc, argv); }
