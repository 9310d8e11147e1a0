// `kubectl muster logs`: prints the logs of a job's pods. With --follow a thread reads each pod,
// new ones too, until the job has ended; Ctrl-C ends the process.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/exit_codes.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/kubectl/cluster.h"
#include "cli/kubectl/commands.h"
#include "cli/kubectl/log_lines.h"
#include "operator/core/round/gang.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/resource_type.h"

namespace muster::cli::kubectl {
namespace {

constexpr char kContainer[] = "worker";
constexpr absl::Duration kBetweenLooks = absl::Seconds(2);
constexpr absl::Duration kLongest = absl::Hours(1);

struct Wanted {
  std::optional<int> worker;
  std::optional<int> rank;
  int64_t tail = -1;
};

absl::StatusOr<std::optional<int>> Index(const Flags& flags, absl::string_view name) {
  if (!flags.Has(name)) return std::nullopt;
  MUSTER_ASSIGN_OR_RETURN(const int64_t value, flags.GetInt(name, 0));
  if (value >= 0 && value < 1'000'000) return static_cast<int>(value);
  return absl::InvalidArgumentError(absl::StrCat("--", name, ": wants a number from 0"));
}

absl::StatusOr<Wanted> ReadWanted(const Flags& flags) {
  Wanted wanted;
  MUSTER_ASSIGN_OR_RETURN(wanted.worker, Index(flags, "worker"));
  MUSTER_ASSIGN_OR_RETURN(wanted.rank, Index(flags, "rank"));
  MUSTER_ASSIGN_OR_RETURN(wanted.tail, flags.GetInt("tail", -1));
  return wanted;
}

// Returns the wanted pods, by the worker's index and then the incarnation.
std::vector<Json> Choose(std::vector<Json> pods, const Wanted& wanted) {
  const auto number = [](const Json& pod, const char* label) {
    int value = -1;
    return absl::SimpleAtoi(kube::LabelOf(pod, label), &value) ? value : -1;
  };
  const auto place = [&number](const Json& pod) {
    return std::pair(number(pod, control::kIndexLabel), number(pod, control::kIncarnationLabel));
  };
  if (wanted.worker) {
    std::erase_if(pods, [&](const Json& pod) { return place(pod).first != *wanted.worker; });
  }
  std::sort(pods.begin(), pods.end(),
            [&place](const Json& a, const Json& b) { return place(a) < place(b); });
  return pods;
}

bool HasStarted(const Json& pod) {
  const std::string phase = kube::StringAt(pod, {"status", "phase"});
  return phase == "Running" || phase == "Succeeded" || phase == "Failed";
}

// Prints whole lines from several threads.
class Printer {
 public:
  void Print(const std::string& lines) {
    MutexLock lock(mu_);
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    std::fflush(stdout);
  }

 private:
  Mutex mu_;
};

// Reads one pod's log to its end. A stream that breaks is continued as long as `follow`.
absl::Status ReadPod(kube::RestApi& api, const kube::ObjectKey& pod, const Wanted& wanted,
                     bool follow, Printer& printer) {
  LogLines lines(wanted.rank);
  kube::LogOptions options{.container = kContainer,
                           .follow = follow,
                           .timestamps = true,
                           .since_time = "",
                           .tail_lines = wanted.tail};
  while (true) {
    const absl::Status read = api.ReadLog(
        pod, options,
        [&](std::string_view bytes) {
          printer.Print(lines.Feed(bytes));
          return absl::OkStatus();
        },
        kLongest);
    printer.Print(lines.End(/*whole=*/read.ok()));
    const bool broken = absl::IsUnavailable(read) || absl::IsDeadlineExceeded(read);
    if (!broken || !follow) return read;
    options.since_time = lines.since();
    if (!options.since_time.empty()) options.tail_lines = -1;
    absl::SleepFor(kBetweenLooks);
  }
}

void Warn(const kube::ObjectKey& pod, const absl::Status& status) {
  std::fprintf(stderr, "kubectl-muster: pod %s: %s\n", pod.name.c_str(),
               std::string(status.message()).c_str());
}

// Prints what there is. A pod whose log cannot be read does not hide those of the others.
absl::Status PrintLogs(kube::RestApi& api, const std::vector<Json>& pods, const Wanted& wanted) {
  Printer printer;
  absl::Status first;
  for (const Json& pod : pods) {
    const kube::ObjectKey key = kube::KeyOf(pod);
    const absl::Status read = ReadPod(api, key, wanted, /*follow=*/false, printer);
    if (!read.ok()) Warn(key, read);
    first.Update(read);
  }
  return first;
}

// Reads each pod of the job in a thread of its own.
class Follower {
 public:
  Follower(kube::RestApi& api, kube::ObjectKey job, Wanted wanted)
      : api_(api), job_(std::move(job)), wanted_(wanted) {}
  ~Follower() {
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns once the job has ended or is gone, and so have the logs.
  absl::Status Run() {
    while (true) {
      // Asked before the pods, so that a job that is over has no pod that was not looked at.
      const absl::StatusOr<bool> over = IsOver();
      MUSTER_RETURN_IF_ERROR(over.status());
      MUSTER_RETURN_IF_ERROR(StartReaders());
      if (*over && reading_ == 0) return absl::OkStatus();
      absl::SleepFor(kBetweenLooks);
    }
  }

 private:
  absl::StatusOr<bool> IsOver() {
    const absl::StatusOr<Json> json = api_.Get(kube::kTrainingJobs, job_);
    if (absl::IsNotFound(json.status())) return true;
    if (absl::IsUnavailable(json.status()) || absl::IsDeadlineExceeded(json.status())) return false;
    MUSTER_RETURN_IF_ERROR(json.status());
    MUSTER_ASSIGN_OR_RETURN(const control::TrainingJob job, control::ParseTrainingJob(*json));
    return control::IsFinished(job.status);
  }

  absl::Status StartReaders() {
    absl::StatusOr<std::vector<Json>> pods = PodsOf(api_, job_);
    if (absl::IsUnavailable(pods.status()) || absl::IsDeadlineExceeded(pods.status())) {
      return absl::OkStatus();
    }
    MUSTER_RETURN_IF_ERROR(pods.status());
    for (const Json& pod : Choose(*std::move(pods), wanted_)) {
      if (!HasStarted(pod) || !seen_.insert(kube::UidOf(pod)).second) continue;
      ++reading_;
      threads_.emplace_back([this, key = kube::KeyOf(pod)] {
        const absl::Status read = ReadPod(api_, key, wanted_, /*follow=*/true, printer_);
        if (!read.ok()) Warn(key, read);
        --reading_;
      });
    }
    return absl::OkStatus();
  }

  kube::RestApi& api_;
  const kube::ObjectKey job_;
  const Wanted wanted_;
  Printer printer_;
  std::set<std::string> seen_;  // uids of pods
  std::list<std::thread> threads_;
  std::atomic<int> reading_{0};
};

absl::Status Logs(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, ParseFlags(arguments, LogsFlags()));
  MUSTER_ASSIGN_OR_RETURN(const Wanted wanted, ReadWanted(flags));
  MUSTER_ASSIGN_OR_RETURN(const Cluster cluster, Connect(flags));
  MUSTER_ASSIGN_OR_RETURN(const kube::ObjectKey key, NamedJob(cluster, flags));
  MUSTER_RETURN_IF_ERROR(cluster.api->Get(kube::kTrainingJobs, key).status());
  if (flags.Has("follow")) return Follower(*cluster.api, key, wanted).Run();
  MUSTER_ASSIGN_OR_RETURN(std::vector<Json> pods, PodsOf(*cluster.api, key));
  pods = Choose(std::move(pods), wanted);
  if (pods.empty()) {
    return absl::NotFoundError(absl::StrCat("job ", key.name, " has no such pods now"));
  }
  return PrintLogs(*cluster.api, pods, wanted);
}

}  // namespace

std::vector<FlagSpec> LogsFlags() {
  std::vector<FlagSpec> flags = ClusterFlags();
  flags.push_back({"worker", "only the pods of the worker with this index"});
  flags.push_back({"rank", "only the lines of this rank"});
  flags.push_back({"tail", "only this many of the last lines of each pod"});
  flags.push_back(
      {"follow", "-f: go on with new lines and new pods until the job ends", /*is_switch=*/true});
  return flags;
}

int LogsMain(const std::vector<std::string>& arguments) {
  const absl::Status status = Logs(arguments);
  return status.ok() ? +kExitOk : Fail(status);
}

}  // namespace muster::cli::kubectl
