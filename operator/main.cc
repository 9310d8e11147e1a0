// muster-operator: watches TrainingJobs and keeps their workers running and in step.
//
// Start order:
//   1. block SIGTERM and SIGINT, so that every thread inherits that and only main takes them
//   2. flags
//   3. the API: today the embedded one, over --state-dir
//   4. the operator: coordinator and HTTP addresses are bound, caches sync, loops start
//   5. wait for SIGTERM or SIGINT
//   6. drain: running reconciles end, streams close; agents and ranks go on and dial again
//
// Exit codes: base/exit_codes.h.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/app/operator_app.h"
#include "operator/kube/memory_api.h"

namespace muster::control {
namespace {

constexpr char kUsage[] =
    "usage: muster-operator --state-dir=FOLDER [--coordinator=ADDRESS[,ADDRESS]]\n"
    "                       [--http=HOST:PORT] [--namespace=NAME] [--worker-image=IMAGE]\n"
    "  --coordinator   unix:/path or host:port; default unix:FOLDER/run/coordinator.sock\n"
    "  --http          default 127.0.0.1:0; empty for none\n"
    "  --namespace     only jobs of this namespace; default all\n";

using Flags = std::map<std::string, std::string>;

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags = {{"state-dir", ""},
                 {"coordinator", ""},
                 {"http", "127.0.0.1:0"},
                 {"namespace", ""},
                 {"worker-image", "muster-agent"}};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (argument.compare(0, 2, "--") != 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(argument, ": wants --NAME=VALUE"));
    }
    const auto flag = flags.find(argument.substr(2, equals - 2));
    if (flag == flags.end()) {
      return absl::InvalidArgumentError(absl::StrCat(argument, ": no such flag"));
    }
    flag->second = argument.substr(equals + 1);
  }
  if (flags["state-dir"].empty()) return absl::InvalidArgumentError("--state-dir is missing");
  if (flags["state-dir"][0] != '/') {
    return absl::InvalidArgumentError("--state-dir must be an absolute path");
  }
  return flags;
}

absl::StatusOr<std::unique_ptr<kube::MemoryApi>> OpenApi(const std::string& state_dir) {
  kube::MemoryApiOptions options;
  options.directory = state_dir + "/api";
  options.random = [engine = std::mt19937_64(std::random_device{}())]() mutable {
    return engine();
  };
  return kube::MemoryApi::Open(Clock::Real(), std::move(options));
}

OperatorOptions ToOptions(const Flags& flags) {
  OperatorOptions options;
  options.namespace_scope = flags.at("namespace");
  options.coordinator_addresses = absl::StrSplit(flags.at("coordinator"), ',', absl::SkipEmpty());
  if (options.coordinator_addresses.empty()) {
    options.coordinator_addresses = {
        absl::StrCat("unix:", flags.at("state-dir"), "/run/coordinator.sock")};
  }
  options.http_address = flags.at("http");
  options.worker_image = flags.at("worker-image");
  return options;
}

absl::Status Run(const Flags& flags, const sigset_t& signals) {
  MUSTER_ASSIGN_OR_RETURN(const auto api, OpenApi(flags.at("state-dir")));  // 3
  MUSTER_ASSIGN_OR_RETURN(const auto app,
                          OperatorApp::Create(*api, Clock::Real(), ToOptions(flags)));
  MUSTER_RETURN_IF_ERROR(app->Start());  // 4
  std::printf("coordinator %s\nhttp %s\n", app->coordinator_address().c_str(),
              app->http_address().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);  // 5
  MUSTER_LOG(INFO, "stopping", {"signal", signal});
  app->Stop();  // 6
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);               // 1
  const absl::StatusOr<Flags> flags = ParseFlags(argc, argv);  // 2
  if (!flags.ok()) {
    std::fprintf(stderr, "muster-operator: %s\n%s", std::string(flags.status().message()).c_str(),
                 kUsage);
    return kExitBadInput;
  }
  const absl::Status status = Run(*flags, signals);
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "muster-operator: %s\n", std::string(status.message()).c_str());
  if (absl::IsInvalidArgument(status)) return kExitBadInput;
  return absl::IsAlreadyExists(status) || absl::IsUnavailable(status) ? kExitRefused : kExitFailed;
}

}  // namespace
}  // namespace muster::control

int main(int argc, char** argv) { return muster::control::Main(argc, argv); }
