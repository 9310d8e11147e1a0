// decisions_bench TRACE QUEUES [KUBECONFIG] submits the jobs of a generated trace's first QUEUES
// queues to the real operator, at the trace's times on the real clock. Pods are created, bound, run
// for as long as the trace says, and end. Uses an embedded API server, or the real one of
// KUBECONFIG. Prints a JSON object.
#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/simulate/sim_trace.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api.h"
#include "tests/bench/stream/stream_kubelet.h"
#include "tests/bench/stream/stream_world.h"

namespace muster::control {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(540);
// The run is given up when no job has ended for this long, which is far longer than any gap between
// submissions.
constexpr absl::Duration kStall = absl::Seconds(90);
constexpr int kKubeletThreads = 4;
constexpr int kSubmitters = 4;

double CpuSeconds(clockid_t clock) {
  timespec spent{};
  clock_gettime(clock, &spent);
  return absl::ToDoubleSeconds(absl::DurationFromTimespec(spent));
}

// The jobs of the first queues of the trace; `index` finds them by name.
struct Load {
  std::vector<cli::SimJob> jobs;
  std::vector<QueueSpec> queues;
  std::unordered_map<std::string, size_t> index;
  double quota_seconds = 0;  // time that the whole nominal quota needs for all jobs
  int64_t pods = 0;

  double Last() const { return absl::ToDoubleSeconds(jobs.back().job.created - absl::UnixEpoch()); }
};

Load LoadOf(const cli::SimTrace& trace, size_t queues) {
  Load load;
  std::set<std::string> names;
  double millis = 0, nominal = 0;
  for (const QueueSpec& queue : trace.cluster->queues) {
    if (names.size() == queues) break;
    names.insert(queue.name);
    load.queues.push_back(queue);
    for (const Quota& quota : queue.quotas) nominal += static_cast<double>(quota.nominal);
  }
  for (const cli::SimJob& job : trace.jobs) {
    if (!names.contains(job.job.queue)) continue;
    load.jobs.push_back(job);
    load.jobs.back().job.name = absl::StrCat("job-", load.jobs.size());
    load.index[load.jobs.back().job.name] = load.jobs.size() - 1;
    load.pods += job.job.request.max;
    millis += static_cast<double>(job.job.request.max * job.job.request.per_worker.cpu_millis) *
              absl::ToDoubleSeconds(job.duration);
  }
  load.quota_seconds = millis / nominal;
  return load;
}

// Records when each job was first seen running.
class Starts {
 public:
  explicit Starts(const Load& load) : load_(load), at_(load.jobs.size()) {}

  absl::Duration RunTimeOf(const std::string& job) {
    const size_t index = load_.index.at(job);
    MutexLock lock(mu_);
    if (!at_[index]) at_[index] = Clock::Real().Monotonic();
    return load_.jobs[index].duration;
  }
  // The waiting times in seconds since submission, by class, sorted.
  std::map<std::string, std::vector<double>> Waits(absl::Time start) const {
    std::map<std::string, std::vector<double>> waits;
    MutexLock lock(mu_);
    for (size_t i = 0; i < at_.size(); ++i) {
      const absl::Duration created = load_.jobs[i].job.created - absl::UnixEpoch();
      if (at_[i]) {
        waits[load_.jobs[i].job_class].push_back(absl::ToDoubleSeconds(*at_[i] - start - created));
      }
    }
    for (auto& [name, all] : waits) std::sort(all.begin(), all.end());
    return waits;
  }

 private:
  const Load& load_;
  mutable Mutex mu_;
  std::vector<std::optional<absl::Time>> at_ MUSTER_GUARDED_BY(mu_);
};

// Creates one submitter's share of the jobs, each when it is due. Returns the CPU seconds spent.
double Submit(kube::Api& api, const Load& load, absl::Time start, int share, std::string& error) {
  for (size_t i = share; i < load.jobs.size(); i += kSubmitters) {
    const absl::Time due = start + (load.jobs[i].job.created - absl::UnixEpoch());
    const absl::Duration wait = due - Clock::Real().Monotonic();
    if (wait > absl::ZeroDuration()) {
      const timespec pause = absl::ToTimespec(wait);
      nanosleep(&pause, nullptr);
    }
    const auto made = api.Create(kube::kTrainingJobs, StreamWorld::JobObject(load.jobs[i].job));
    if (!made.ok()) error = std::string(made.status().message());
  }
  return CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
}

// Describes an unfinished job (its status and pods), to explain why it has not ended.
Json Unfinished(kube::Api& api, const std::string& name) {
  const auto job = api.Get(kube::kTrainingJobs, {StreamWorld::kNamespace, name});
  if (!job.ok()) return job.status().ToString();
  kube::ListOptions options;
  options.name_space = StreamWorld::kNamespace;
  options.label_selector = absl::StrCat("muster.dev/job=", name);
  const auto pods = api.List(kube::kPods, options);
  return {{"job", name},
          {"status", (*job)["status"]},
          {"pods", pods.ok() ? Json(pods->items) : Json(pods.status().ToString())}};
}

// Waits until all jobs have succeeded, kPatience has passed, or the run has stalled. Returns the
// names of those that have succeeded.
std::set<std::string> WaitForAll(kube::Api& api, const Load& load, absl::Time start,
                                 absl::Time& last) {
  std::set<std::string> done;
  auto waits = [&] {
    const absl::Time now = Clock::Real().Monotonic();
    return now < std::min(start + kPatience, last + kStall) && done.size() < load.jobs.size();
  };
  while (waits()) {
    kube::WatchOptions options;
    options.name_space = StreamWorld::kNamespace;
    auto watcher = api.Watch(kube::kTrainingJobs, options);
    if (!watcher.ok()) continue;
    while (waits()) {
      const auto event = (*watcher)->Next(absl::Milliseconds(200));
      if (!event.ok()) break;
      if (!*event || (*event)->type == kube::WatchEvent::Type::kBookmark) continue;
      const Json& job = (*event)->object;
      if (kube::StringAt(job, {"status", "state"}) != "Succeeded") continue;
      if (done.insert(kube::NameOf(job)).second) last = Clock::Real().Monotonic();
    }
  }
  return done;
}

Json WaitsJson(const std::map<std::string, std::vector<double>>& waits) {
  Json json = Json::object();
  for (const auto& [name, all] : waits) {
    json[name] = {{"jobs", all.size()},
                  {"median", all[all.size() / 2]},
                  {"p95", all[all.size() * 95 / 100]},
                  {"most", all.back()}};
  }
  return json;
}

absl::Status Run(const std::string& path, int queues, const std::string& kubeconfig) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), path));
  MUSTER_ASSIGN_OR_RETURN(const cli::SimTrace trace, cli::ParseTrace(text, path));
  const Load load = LoadOf(trace, queues);
  std::unique_ptr<kube::Api> remote;
  if (!kubeconfig.empty()) {
    MUSTER_ASSIGN_OR_RETURN(kube::RestConfig config, kube::LoadKubeconfig({kubeconfig}, ""));
    config.qps = 0;
    MUSTER_ASSIGN_OR_RETURN(remote, kube::RestApi::Create(std::move(config)));
  }
  MUSTER_ASSIGN_OR_RETURN(const auto world,
                          StreamWorld::Start(remote.get(), trace.cluster->inventory, load.queues));
  Starts starts(load);
  StreamKubelet kubelet(
      world->api(), world->app().agents(), StreamWorld::kNamespace,
      [&starts](const std::string& job) { return starts.RunTimeOf(job); }, kKubeletThreads);
  const double cpu_before = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  const double main_before = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  const absl::Time start = Clock::Real().Monotonic();
  std::vector<std::thread> submitters;
  std::vector<double> submit_cpu(kSubmitters);
  std::vector<std::string> errors(kSubmitters);
  for (int i = 0; i < kSubmitters; ++i) {
    submitters.emplace_back(
        [&, i] { submit_cpu[i] = Submit(world->api(), load, start, i, errors[i]); });
  }
  absl::Time last = start;
  const std::set<std::string> finished = WaitForAll(world->api(), load, start, last);
  Json unfinished = Json::array();
  for (const auto& [name, index] : load.index) {
    if (!finished.contains(name) && unfinished.size() < 3) {
      unfinished.push_back(Unfinished(world->api(), name));
    }
  }
  for (std::thread& submitter : submitters) submitter.join();
  kubelet.Stop();
  double others = absl::ToDoubleSeconds(kubelet.cpu());
  for (const double one : submit_cpu) others += one;
  others += CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - main_before;
  const double wall = absl::ToDoubleSeconds(last - start);
  const Json result = {
      {"jobs", load.jobs.size()},
      {"pods", load.pods},
      {"queues", load.queues.size()},
      {"nodes", trace.cluster->inventory.nodes.size()},
      {"finished", finished.size()},
      {"unfinished", unfinished},
      {"wallSeconds", wall},
      {"lastSubmittedSeconds", load.Last()},
      {"quotaSeconds", load.quota_seconds},
      {"operatorCpuSeconds", CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_before - others},
      {"harnessCpuSeconds", others},
      {"waits", WaitsJson(starts.Waits(start))},
      {"error", std::string(kubelet.status().message()) + errors[0]}};
  std::printf("%s\n", DumpJson(result).c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::control

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  int queues = 0;
  if (argc < 3 || !absl::SimpleAtoi(argv[2], &queues)) {
    std::fprintf(stderr, "usage: decisions_bench TRACE QUEUES [KUBECONFIG]\n");
    return 2;
  }
  muster::SetLogLevel(muster::LogLevel::kError);
  const absl::Status status = muster::control::Run(argv[1], queues, argc > 3 ? argv[3] : "");
  if (status.ok()) std::_Exit(0);  // skips destroying tens of thousands of objects
  std::fprintf(stderr, "decisions_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}
