// `muster explain`, `muster whatif`, `muster tree` and `muster queue`: the operator's view of
// placement and queues.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/cluster_file.h"
#include "cli/jobs/local_jobs.h"
#include "cli/placement/placement_text.h"
#include "cli/placement/topology_svg.h"
#include "operator/api/manifest.h"
#include "operator/api/training_job.h"

namespace muster::cli {
namespace {

// The flag for questions that need no operator.
constexpr FlagSpec kClusterFlag = {"cluster",
                                   "a cluster file as for muster simulate: the answer is for that "
                                   "cluster, empty; no operator is asked"};
// The flag that chooses among this machine's operators, for commands about no particular job.
constexpr FlagSpec kJobFlag = {"job", "the job of this machine whose operator is asked",
                               /*is_switch=*/false, Names::kJob};

constexpr int64_t kMostDepth = 32;

std::vector<FlagSpec> WithCommon(std::vector<FlagSpec> flags) {
  for (const FlagSpec& flag : ServerFlags()) flags.push_back(flag);
  flags.push_back({"namespace", "with --server: the job's namespace; default: default"});
  flags.push_back({"state-dir", "where jobs of this machine keep their state"});
  flags.push_back({"json", "print the answer as JSON", /*is_switch=*/true});
  return flags;
}

struct Target {
  LiveOperator live;
  std::string ns;
  std::string job;
};

absl::StatusOr<Target> LocalTarget(const JobPaths& paths) {
  const auto live = FindLiveOperator(FileSystem(), paths);
  if (!live) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", paths.job,
        " has no operator on this machine now; for a job of a cluster, give --server"));
  }
  MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob known, ReadJob(paths));
  return Target{*live, known.ns, known.name};
}

// Returns the named server, or the one that runs the job on this machine.
absl::StatusOr<Target> FindTarget(const Flags& flags, const std::string& job,
                                  absl::string_view to_choose) {
  if (!flags.Get("server", "").empty()) {
    MUSTER_ASSIGN_OR_RETURN(LiveOperator live, ServerAt(FileSystem(), flags));
    return Target{std::move(live), flags.Get("namespace", "default"), job};
  }
  MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
  MUSTER_ASSIGN_OR_RETURN(const JobPaths paths, FindJob(FileSystem(), root, job, to_choose));
  return LocalTarget(paths);
}

// The same for commands that concern no particular job. InvalidArgument for --job with --server: a
// cluster has one operator for all its jobs.
absl::StatusOr<Target> FindTarget(const Flags& flags) {
  const std::string job = flags.Get("job", "");
  if (!job.empty() && !flags.Get("server", "").empty()) {
    return absl::InvalidArgumentError(
        "--job chooses among the jobs of this machine, each with an operator of its own; it does "
        "not go with --server");
  }
  return FindTarget(flags, job, kChooseByFlag);
}

// Returns all operators that a question about no particular job concerns: each job that runs on
// this machine has its own. Only one if a job or server is named, or the answer is one document.
absl::StatusOr<std::vector<Target>> FindTargets(const Flags& flags) {
  const bool one = flags.Has("json") || flags.Has("svg") || !flags.Get("job", "").empty() ||
                   !flags.Get("server", "").empty();
  std::vector<Target> targets;
  if (!one) {
    MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
    MUSTER_ASSIGN_OR_RETURN(const auto running, RunningJobs(FileSystem(), root));
    for (const JobPaths& paths : running) {
      MUSTER_ASSIGN_OR_RETURN(Target target, LocalTarget(paths));
      targets.push_back(std::move(target));
    }
  }
  if (targets.empty()) {
    MUSTER_ASSIGN_OR_RETURN(Target target, FindTarget(flags));
    targets.push_back(std::move(target));
  }
  return targets;
}

int Answer(const Flags& flags, const absl::StatusOr<Json>& page, void (*print)(const Json&)) {
  if (!page.ok()) return Fail(page.status());
  if (flags.Has("json")) {
    std::printf("%s\n", DumpJson(*page, 2).c_str());
  } else {
    print(*page);
  }
  return kExitOk;
}

// Requests the same page from each target, and prints each answer under its job's name if there are
// several. A target that has ended meanwhile does not hide the others' answers.
int AnswerEach(const Flags& flags, const std::vector<Target>& targets, const std::string& path,
               void (*print)(const Json&)) {
  int code = kExitOk;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets.size() > 1) {
      std::printf("%sjob %s:\n", i > 0 ? "\n" : "", targets[i].job.c_str());
      std::fflush(stdout);
    }
    code = std::max(code, Answer(flags, CallOperator(targets[i].live, "GET", path), print));
  }
  return code;
}

// Opens the cluster of --cluster. InvalidArgument if an operator is chosen as well.
absl::StatusOr<std::unique_ptr<ClusterFile>> OpenClusterFile(const Flags& flags) {
  for (const char* other : {"server", "job"}) {
    if (flags.Get(other, "").empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--cluster asks no operator: it does not go with --", other));
  }
  return ClusterFile::Open(FileSystem(), flags.Get("cluster", ""));
}

absl::StatusOr<Json> WhatIfOnClusterFile(const Flags& flags, control::TrainingJob job) {
  MUSTER_ASSIGN_OR_RETURN(const auto cluster, OpenClusterFile(flags));
  if (job.ns.empty()) job.ns = flags.Get("namespace", "default");
  return cluster->WhatIf(job);
}

// Explains where the workers of a job of this machine would be placed on that cluster.
absl::StatusOr<Json> ExplainOnClusterFile(const Flags& flags, const std::string& name) {
  MUSTER_ASSIGN_OR_RETURN(const std::string root, StateRoot(flags.Get("state-dir", "")));
  MUSTER_ASSIGN_OR_RETURN(const JobPaths paths, FindJob(FileSystem(), root, name));
  MUSTER_ASSIGN_OR_RETURN(control::TrainingJob job, ReadJob(paths));
  return WhatIfOnClusterFile(flags, std::move(job));
}

absl::StatusOr<Json> TreeOfClusterFile(const Flags& flags, int depth) {
  MUSTER_ASSIGN_OR_RETURN(const auto cluster, OpenClusterFile(flags));
  return cluster->Tree(depth);
}

int DrawTree(const Flags& flags, const absl::StatusOr<Json>& page) {
  if (!page.ok()) return Fail(page.status());
  const absl::Status drawn =
      WriteFileAtomically(FileSystem(), flags.Get("svg", ""), TopologySvg(*page));
  return drawn.ok() ? kExitOk : Fail(drawn);
}

}  // namespace

std::vector<FlagSpec> ExplainFlags() { return WithCommon({kClusterFlag}); }

std::vector<FlagSpec> WhatIfFlags() { return WithCommon({kJobFlag, kClusterFlag}); }

std::vector<FlagSpec> TreeFlags() {
  return WithCommon(
      {kJobFlag,
       kClusterFlag,
       {"depth", "levels to print; default all, without the hosts of a large cluster"},
       {"svg", "draw it into this file instead"}});
}

std::vector<FlagSpec> QueueFlags() {
  return WithCommon(
      {kJobFlag, {"limit", "waiting jobs of each queue to print; default 10, of one queue 100"}});
}

int ExplainMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, ExplainFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto job = flags->OnePositional();
  if (!job.ok()) return Fail(job.status());
  if (flags->Has("cluster")) {
    return Answer(*flags, ExplainOnClusterFile(*flags, *job), PrintGang);
  }
  const auto target = FindTarget(*flags, *job, "name a job");
  if (!target.ok()) return Fail(target.status());
  if (target->job.empty()) return Fail(absl::InvalidArgumentError("which job? muster explain JOB"));
  return Answer(
      *flags,
      CallOperator(target->live, "GET",
                   absl::StrCat("/api/v1/jobs/", target->ns, "/", target->job, "/placement")),
      PrintGang);
}

int WhatIfMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, WhatIfFlags());
  if (!flags.ok()) return Fail(flags.status());
  std::string file;
  for (const std::string& word : flags->positional()) {
    if (word != "-f") file = word;
  }
  if (file.empty())
    return Fail(absl::InvalidArgumentError("which manifest? muster whatif -f FILE"));
  const auto text = ReadFile(FileSystem(), file);
  if (!text.ok()) return Fail(text.status());
  control::ManifestResult manifest = control::ParseManifest(*text);
  if (!manifest.errors.empty()) {
    std::fprintf(stderr, "%s", control::FormatErrors(file, manifest.errors).c_str());
    return kExitBadInput;
  }
  if (flags->Has("cluster")) {
    return Answer(*flags, WhatIfOnClusterFile(*flags, std::move(manifest.job)), PrintGang);
  }
  const auto target = FindTarget(*flags);
  if (!target.ok()) return Fail(target.status());
  if (manifest.job.ns.empty()) manifest.job.ns = target->ns;
  return Answer(
      *flags,
      CallOperator(target->live, "POST", "/api/v1/whatif", DumpJson(control::ToJson(manifest.job))),
      PrintGang);
}

int TreeMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, TreeFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto depth = flags->GetInt("depth", kMostDepth);
  if (!depth.ok()) return Fail(depth.status());
  const auto print = flags->Has("depth") ? PrintAllHosts : PrintTree;
  if (flags->Has("cluster")) {
    const int levels = static_cast<int>(std::clamp<int64_t>(*depth, 0, kMostDepth));
    const absl::StatusOr<Json> page = TreeOfClusterFile(*flags, levels);
    return flags->Has("svg") ? DrawTree(*flags, page) : Answer(*flags, page, print);
  }
  const auto targets = FindTargets(*flags);
  if (!targets.ok()) return Fail(targets.status());
  const std::string path = absl::StrCat("/api/v1/topology?depth=", *depth);
  if (flags->Has("svg")) {
    return DrawTree(*flags, CallOperator(targets->front().live, "GET", path));
  }
  return AnswerEach(*flags, *targets, path, print);
}

int QueueMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, QueueFlags());
  if (!flags.ok()) return Fail(flags.status());
  const auto one = flags->OnePositional();
  if (!one.ok()) return Fail(one.status());
  const std::string& name = *one;
  const bool all = name.empty() && !flags->Has("json");
  const auto limit = flags->GetInt("limit", all ? 10 : 100);
  if (!limit.ok()) return Fail(limit.status());
  const auto targets = FindTargets(*flags);
  if (!targets.ok()) return Fail(targets.status());
  return AnswerEach(
      *flags, *targets,
      absl::StrCat("/api/v1/queues", name.empty() ? "" : "/", name, "?limit=", *limit),
      PrintQueues);
}

}  // namespace muster::cli
