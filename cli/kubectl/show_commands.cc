// The commands that only read and print: get, describe, events, checkpoints.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/status_macros.h"
#include "cli/kubectl/cluster.h"
#include "cli/kubectl/commands.h"
#include "cli/show/event_table.h"
#include "cli/show/job_description.h"
#include "cli/show/job_table.h"
#include "operator/api/redact.h"
#include "operator/kube/resource_type.h"

namespace muster::cli::kubectl {
namespace {

using control::TrainingJob;

std::vector<FlagSpec> ReadFlags() {
  std::vector<FlagSpec> flags = ClusterFlags();
  flags.push_back(OutputFlag());
  return flags;
}

absl::Time Now() { return Clock::Real().Wall(); }

int Print(const absl::StatusOr<std::string>& text) {
  if (!text.ok()) return Fail(text.status());
  std::printf("%s", text->c_str());
  return kExitOk;
}

// Returns the named jobs, or all of the namespace.
absl::StatusOr<std::vector<TrainingJob>> WantedJobs(const Cluster& cluster, const Flags& flags) {
  if (flags.positional().empty()) return ListJobs(cluster);
  if (cluster.name_space.empty()) {
    return absl::InvalidArgumentError("a job is named in one namespace: leave out -A");
  }
  std::vector<TrainingJob> jobs;
  for (const std::string& name : flags.positional()) {
    MUSTER_ASSIGN_OR_RETURN(const Json json,
                            cluster.api->Get(kube::kTrainingJobs, {cluster.name_space, name}));
    MUSTER_ASSIGN_OR_RETURN(TrainingJob job, control::ParseTrainingJob(json));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::string JsonOf(const std::vector<TrainingJob>& jobs, bool as_list) {
  Json items = Json::array();
  for (const TrainingJob& job : jobs) items.push_back(control::ToJson(job));
  const Json out =
      as_list ? Json({{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}) : items[0];
  return DumpJson(out, 2) + "\n";
}

absl::StatusOr<std::string> Get(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, GetFlags()));
  MUSTER_ASSIGN_OR_RETURN(const bool json, WantsJson(flags));
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<TrainingJob> jobs, WantedJobs(cluster, flags));
  if (json) return JsonOf(jobs, /*as_list=*/flags.positional().size() != 1);
  if (!jobs.empty()) return JobTable(jobs, flags.Has("all-namespaces"), Now());
  std::fprintf(stderr, "no jobs in %s\n",
               cluster.name_space.empty() ? "the cluster"
                                          : absl::StrCat("namespace ", cluster.name_space).c_str());
  return "";
}

// The job that a command names, with all that the cluster says about it.
struct Subject {
  TrainingJob job;
  JobSurroundings around;
};

absl::StatusOr<Subject> ReadSubject(const Flags& flags) {
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  MUSTER_ASSIGN_OR_RETURN(const kube::ObjectKey key, NamedJob(cluster, flags));
  Subject subject;
  MUSTER_ASSIGN_OR_RETURN(const Json json, cluster.api->Get(kube::kTrainingJobs, key));
  MUSTER_ASSIGN_OR_RETURN(subject.job, control::ParseTrainingJob(json));
  MUSTER_ASSIGN_OR_RETURN(subject.around.pods, PodsOf(*cluster.api, key));
  MUSTER_ASSIGN_OR_RETURN(subject.around.events, EventsIn(*cluster.api, key.name_space));
  return subject;
}

absl::StatusOr<std::string> Describe(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, DescribeFlags()));
  MUSTER_ASSIGN_OR_RETURN(const bool json, WantsJson(flags));
  MUSTER_ASSIGN_OR_RETURN(const Subject subject, ReadSubject(flags));
  if (!json) return DescribeJob(subject.job, subject.around, Now());
  Json job = control::ToJson(subject.job);
  control::RedactEnvironment(job);
  return DumpJson({{"job", job},
                   {"pods", NamesOf(subject.around.pods)},
                   {"events", EventsAbout(subject.around.events, subject.job.name,
                                          NamesOf(subject.around.pods))}},
                  2) +
         "\n";
}

absl::StatusOr<std::string> Events(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, EventsFlags()));
  MUSTER_ASSIGN_OR_RETURN(const bool json, WantsJson(flags));
  MUSTER_ASSIGN_OR_RETURN(const Subject subject, ReadSubject(flags));
  const std::vector<std::string> pods = NamesOf(subject.around.pods);
  if (json) {
    const Json items = EventsAbout(subject.around.events, subject.job.name, pods);
    return DumpJson({{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}, 2) + "\n";
  }
  std::string table = EventTable(subject.around.events, subject.job.name, pods, Now());
  if (table.empty()) std::fprintf(stderr, "no events about job %s\n", subject.job.name.c_str());
  return table;
}

absl::StatusOr<std::string> Checkpoints(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, CheckpointsFlags()));
  MUSTER_ASSIGN_OR_RETURN(const bool json, WantsJson(flags));
  MUSTER_ASSIGN_OR_RETURN(const Subject subject, ReadSubject(flags));
  if (!json) return DescribeCheckpoints(subject.job, subject.around.events, Now());
  const Json job = control::ToJson(subject.job);
  const Json* saved = kube::Find(job, {"status", "checkpoint"});
  return DumpJson(saved == nullptr ? Json::object() : *saved, 2) + "\n";
}

}  // namespace

std::vector<FlagSpec> GetFlags() {
  std::vector<FlagSpec> flags = ReadFlags();
  flags.push_back(AllNamespacesFlag());
  return flags;
}

int GetMain(const std::vector<std::string>& arguments) { return Print(Get(arguments)); }

std::vector<FlagSpec> DescribeFlags() { return ReadFlags(); }

int DescribeMain(const std::vector<std::string>& arguments) { return Print(Describe(arguments)); }

std::vector<FlagSpec> EventsFlags() { return ReadFlags(); }

int EventsMain(const std::vector<std::string>& arguments) { return Print(Events(arguments)); }

std::vector<FlagSpec> CheckpointsFlags() { return ReadFlags(); }

int CheckpointsMain(const std::vector<std::string>& arguments) {
  return Print(Checkpoints(arguments));
}

}  // namespace muster::cli::kubectl
