#include "cli/kubectl/cluster.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "base/status_macros.h"
#include "cli/kubectl/short_flags.h"
#include "operator/core/round/gang.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/resource_type.h"

namespace muster::cli::kubectl {
namespace {

// A list of a large namespace takes longer than one object.
constexpr absl::Duration kListTime = absl::Seconds(30);
constexpr int64_t kPage = 500;

absl::StatusOr<std::vector<Json>> ListAll(kube::Api& api, const kube::ResourceType& type,
                                          kube::ListOptions options) {
  std::vector<Json> items;
  options.limit = kPage;
  do {
    MUSTER_ASSIGN_OR_RETURN(kube::ObjectList page, api.List(type, options, {.timeout = kListTime}));
    for (Json& item : page.items) items.push_back(std::move(item));
    options.continue_token = page.continue_token;
  } while (!options.continue_token.empty());
  return items;
}

absl::StatusOr<kube::RestConfig> FindConfig(const Flags& flags) {
  absl::StatusOr<kube::RestConfig> config = kube::LoadKubeconfig(
      kube::KubeconfigPaths(flags.Get("kubeconfig", "")), flags.Get("context", ""));
  if (config.ok() || !absl::IsNotFound(config.status()) || flags.Has("kubeconfig")) return config;
  absl::StatusOr<kube::RestConfig> within = kube::InClusterConfig();
  return within.ok() ? std::move(within) : std::move(config);
}

}  // namespace

std::vector<FlagSpec> ClusterFlags() {
  return {{"kubeconfig", "the kubeconfig file; default $KUBECONFIG, else ~/.kube/config"},
          {"context", "the context in the kubeconfig; default its current one"},
          {"namespace", "-n: the job's namespace; default the context's"}};
}

FlagSpec AllNamespacesFlag() {
  return {"all-namespaces", "-A: the jobs of all namespaces", /*is_switch=*/true};
}

FlagSpec OutputFlag() { return {"output", "-o: json, or table, which is the default"}; }

absl::StatusOr<Flags> ParseFlags(const std::vector<std::string>& arguments,
                                 const std::vector<FlagSpec>& specs) {
  ShortFlags letters;
  for (const FlagSpec& spec : specs) {
    const absl::string_view help = spec.help;
    if (help.size() > 2 && help[0] == '-' && help[2] == ':') {
      letters[help[1]] = std::string(spec.name);
    }
  }
  return Flags::Parse(WithLongFlags(arguments, letters), specs);
}

absl::StatusOr<Cluster> Connect(const Flags& flags) {
  MUSTER_ASSIGN_OR_RETURN(kube::RestConfig config, FindConfig(flags));
  config.user_agent = "kubectl-muster";
  Cluster cluster;
  cluster.name_space = flags.Get("namespace", config.name_space);
  cluster.user = config.user;
  if (flags.Has("all-namespaces")) cluster.name_space.clear();
  MUSTER_ASSIGN_OR_RETURN(cluster.api, kube::RestApi::Create(std::move(config)));
  return cluster;
}

absl::StatusOr<kube::ObjectKey> NamedJob(const Cluster& cluster, const Flags& flags) {
  if (flags.positional().size() != 1 || cluster.name_space.empty()) {
    return absl::InvalidArgumentError("name one job");
  }
  return kube::ObjectKey{cluster.name_space, flags.positional()[0]};
}

absl::StatusOr<bool> WantsJson(const Flags& flags) {
  const std::string form = flags.Get("output", "table");
  if (form == "json" || form == "table") return form == "json";
  return absl::InvalidArgumentError(
      absl::StrCat("--output=", form, ": wants json or table; kubectl get trainingjob has others"));
}

absl::StatusOr<std::vector<control::TrainingJob>> ListJobs(const Cluster& cluster) {
  MUSTER_ASSIGN_OR_RETURN(
      const std::vector<Json> items,
      ListAll(*cluster.api, kube::kTrainingJobs, {.name_space = cluster.name_space}));
  std::vector<control::TrainingJob> jobs;
  for (const Json& item : items) {
    MUSTER_ASSIGN_OR_RETURN(control::TrainingJob job, control::ParseTrainingJob(item));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

absl::StatusOr<std::vector<Json>> PodsOf(kube::Api& api, const kube::ObjectKey& job) {
  return ListAll(api, kube::kPods,
                 {.name_space = job.name_space,
                  .label_selector = absl::StrCat(control::kJobLabel, "=", job.name)});
}

absl::StatusOr<std::vector<Json>> EventsIn(kube::Api& api, const std::string& name_space) {
  return ListAll(api, kube::kEvents, {.name_space = name_space});
}

int Fail(const absl::Status& status) {
  const std::string message(status.message());
  if (absl::IsCancelled(status)) {
    std::printf("%s", message.c_str());
    return kExitOk;
  }
  std::fprintf(stderr, "kubectl-muster: %s\n", message.c_str());
  if (absl::IsFailedPrecondition(status)) return kExitRefused;
  const bool mendable = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return mendable ? kExitBadInput : kExitFailed;
}

}  // namespace muster::cli::kubectl
