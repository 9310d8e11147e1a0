// `kubectl muster run FILE`: creates the job of a manifest and follows it to its end. Ctrl-C leaves
// the job as it is.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/status_macros.h"
#include "cli/flags/interrupts.h"
#include "cli/kubectl/cluster.h"
#include "cli/kubectl/commands.h"
#include "cli/kubectl/job_progress.h"
#include "cli/run/progress_printer.h"
#include "operator/api/manifest.h"
#include "operator/kube/resource_type.h"

namespace muster::cli::kubectl {
namespace {

using control::TrainingJob;

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(500);
// The API server may be away for this long, as during its upgrade.
constexpr absl::Duration kPatience = absl::Minutes(5);

absl::StatusOr<std::string> ReadText(const std::string& path) {
  if (path != "-") return ReadFile(FileSystem(), path, control::kMaxManifestBytes);
  std::string text;
  char bytes[4096];
  for (size_t n; (n = std::fread(bytes, 1, sizeof(bytes), stdin)) > 0;) text.append(bytes, n);
  return text;
}

// Returns the manifest's job in its own namespace, or else in that of the caller.
absl::StatusOr<TrainingJob> ReadManifest(const Flags& flags, const Cluster& cluster) {
  if (flags.positional().size() != 1) return absl::InvalidArgumentError("name one manifest, or -");
  const std::string& path = flags.positional()[0];
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  control::ManifestResult manifest = control::ParseManifest(text);
  if (!manifest.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the manifest is wrong:\n", control::FormatErrors(path, manifest.errors)));
  }
  const std::string own = kube::NamespaceOf(manifest.job.raw);
  if (!own.empty() && flags.Has("namespace") && own != cluster.name_space) {
    return absl::InvalidArgumentError(
        absl::StrCat("the manifest is for namespace ", own, ", not ", cluster.name_space));
  }
  if (own.empty()) manifest.job.ns = cluster.name_space;
  return std::move(manifest.job);
}

absl::Status CreateJob(kube::Api& api, const TrainingJob& job) {
  const absl::Status created = api.Create(kube::kTrainingJobs, control::ToJson(job)).status();
  if (!absl::IsAlreadyExists(created)) return created;
  return absl::FailedPreconditionError(
      absl::StrCat("there is a job ", job.name, " in namespace ", job.ns,
                   " already: kubectl apply changes it, kubectl delete trainingjob ends it"));
}

absl::StatusOr<int> Follow(kube::Api& api, const kube::ObjectKey& key, bool quiet) {
  CountInterrupts();
  ProgressPrinter printer(quiet);
  absl::Time heard = Clock::Real().Monotonic();
  while (Interrupts() == 0) {
    const absl::StatusOr<Json> json = api.Get(kube::kTrainingJobs, key);
    const absl::Time now = Clock::Real().Monotonic();
    const bool away = absl::IsUnavailable(json.status()) || absl::IsDeadlineExceeded(json.status());
    if (json.ok()) {
      heard = now;
      MUSTER_ASSIGN_OR_RETURN(const TrainingJob job, control::ParseTrainingJob(*json));
      if (const std::optional<JobEnd> end = EndOf(job)) {
        printer.Clear();
        std::printf("%s\n", end->sentence.c_str());
        return end->exit_code;
      }
      printer.Show(ProgressOf(job), now);
    } else if (!away || now - heard > kPatience) {
      printer.Clear();
      return json.status();
    }
    absl::SleepFor(kBetweenLooks);
  }
  printer.Clear();
  std::fprintf(stderr, "kubectl-muster: job %s goes on; kubectl muster suspend %s -n %s stops it\n",
               key.name.c_str(), key.name.c_str(), key.name_space.c_str());
  return kExitSignalBase + 2;
}

absl::StatusOr<int> Run(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, RunFlags()));
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  MUSTER_ASSIGN_OR_RETURN(const TrainingJob job, ReadManifest(flags, cluster));
  MUSTER_RETURN_IF_ERROR(CreateJob(*cluster.api, job));
  std::printf("job %s is created in namespace %s\n", job.name.c_str(), job.ns.c_str());
  std::fflush(stdout);
  if (flags.Has("detach")) return kExitOk;
  return Follow(*cluster.api, {job.ns, job.name}, flags.Has("quiet"));
}

}  // namespace

std::vector<FlagSpec> RunFlags() {
  std::vector<FlagSpec> flags = ClusterFlags();
  flags.push_back({"detach", "-d: only create the job", /*is_switch=*/true});
  flags.push_back({"quiet", "-q: no progress lines", /*is_switch=*/true});
  return flags;
}

int RunMain(const std::vector<std::string>& arguments) {
  const absl::StatusOr<int> code = Run(arguments);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace muster::cli::kubectl
