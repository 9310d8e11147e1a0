#include "operator/scheduler/explain/placement_questions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "operator/api/defaults.h"
#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/queue_book.h"
#include "operator/scheduler/gang/gang_request.h"
#include "operator/scheduler/queue_sync/queue_job_state.h"

namespace muster::control {
namespace {

// The most jobs whose nodes are asked for: each new template costs a look at all nodes.
constexpr size_t kMostAsked = 256;
// The fewest jobs of a queue that are looked at behind one that cannot start.
constexpr int kLeastDepth = 1000;
// The API server makes no UIDs of this form.
constexpr char kHypotheticalUid[] = "what-if";

// Returns the first jobs of all queues, taking turns.
std::vector<std::string> FirstOfQueues(const QueueBook& book, absl::Time now, size_t most) {
  std::vector<std::vector<const QueuedJob*>> queues;
  size_t longest = 0;
  for (const QueueBook::QueueView& view : book.Queues(now)) {
    if (view.waiting == 0) continue;
    queues.push_back(book.WaitingInOrder(view.name));
    longest = std::max(longest, queues.back().size());
  }
  std::vector<std::string> uids;
  for (size_t place = 0; place < longest; ++place) {
    for (const auto& queue : queues) {
      if (place >= queue.size()) continue;
      uids.push_back(queue[place]->uid);
      if (uids.size() >= most) return uids;
    }
  }
  return uids;
}

Gang HypotheticalGang(const v1alpha1::TrainingJobSpec& spec, const PodRecord& pod) {
  Gang gang;
  for (int i = 0; i < spec.workers().count(); ++i) {
    gang.unbound[{i, ""}] = std::make_shared<const PodRecord>(pod);
  }
  return gang;
}

DecisionInput Input(const QueueWorld& world, int64_t position) {
  const QueueBook& book = world.book.book();
  ScheduleOptions options = world.options;
  options.gate = &world.gate;
  const int64_t depth = std::max<int64_t>(position, kLeastDepth);
  options.backfill_depth = static_cast<int>(std::min<int64_t>(options.backfill_depth, depth));
  return Capture(world.now, world.model.Tree(), book, options,
                 FirstOfQueues(book, world.now, kMostAsked));
}

// A gate with its own copy of the cluster, unaffected by changes to the model.
class CopiedGate final : public GangGate {
 public:
  CopiedGate(const QueueWorld& world, const std::string& job_uid, const Gang* hypothetical)
      : model_(world.model), holders_(world.holders) {
    if (hypothetical != nullptr) gate_.AddHypotheticalGang(job_uid, *hypothetical);
  }
  std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) override {
    return gate_.NodesFor(job_uid);
  }
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override {
    return gate_.PlacesFor(question);
  }

 private:
  ClusterModel model_;
  const NodeHolders holders_;
  NodeEligibility gate_{model_, holders_};
};

void Ask(const QueueWorld& world, std::shared_ptr<const GangNodes> nodes, const Gang* hypothetical,
         QueueQuestion& question) {
  if (nodes == nullptr) return;
  if (nodes->inter_pod_constraints) {
    question.gate = std::make_unique<CopiedGate>(world, question.job.uid, hypothetical);
  }
  question.input.nodes_for[question.job.uid] = std::move(nodes);
}

}  // namespace

GangReport ExplainGang(ClusterModel& model, const TrainingJob& job, PlacementView verdict) {
  const auto found = model.gangs().find(job.uid);
  if (found == model.gangs().end()) {
    GangReport report;
    report.verdict = std::move(verdict);
    report.nodes = model.nodes();
    return report;
  }
  const Gang& gang = found->second;
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  const PodRecord& pod =
      gang.unbound.empty() ? *gang.bound.begin()->second.pod : *gang.unbound.begin()->second;
  GangReport report = ReportGang(model, MakeGangRequest(job, spec, gang), pod);
  for (WorkerPlace& worker : report.workers) {
    for (const auto& [place, bound] : gang.bound) {
      if (place.first == worker.index) worker.pod = place.second;
    }
  }
  for (const auto& [place, waiting] : gang.unbound) {
    report.workers.push_back({place.first, place.second, "", ""});
  }
  report.verdict = std::move(verdict);
  return report;
}

PlacementForecast ForecastGang(ClusterModel& model, const TrainingJob& job, const PodRecord& pod) {
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  const Gang gang = HypotheticalGang(spec, pod);
  const PartialGang request = MakeGangRequest(job, spec, gang);
  return {ReportGang(model, request, pod), PlaceGang(model, request, MissingPods(gang)), {}};
}

QueueQuestion QuestionAbout(const QueueWorld& world, const std::string& uid) {
  const QueuedJob& job = *world.book.book().Find(uid);
  QueueQuestion question{Input(world, world.book.book().PositionOf(uid)), job, {}};
  Ask(world, world.gate.NodesFor(uid), nullptr, question);
  return question;
}

QueueQuestion QuestionWith(const QueueWorld& world, const TrainingJob& job, const PodRecord& pod) {
  QueueJobState standing;
  standing.key = {job.ns, job.name};
  standing.spec = job.spec;
  Default(standing.spec);
  standing.job = std::make_shared<const TrainingJob>(job);
  const Gang gang = HypotheticalGang(standing.spec, pod);
  QueuedJob queued = MakeWaiting(standing, gang, world.model);
  const PriorityClass priority = world.book.PriorityOf(standing.spec.priority_class_name());
  queued.uid = kHypotheticalUid;
  queued.created = world.now;
  queued.priority = priority.value;
  queued.preempts = priority.preempts;
  QueueQuestion question{Input(world, 0), std::move(queued), {}};
  std::erase_if(question.input.snapshot.jobs, [&](const QueuedJob& other) {
    return !other.running() && other.ns == job.ns && other.name == job.name;
  });
  Ask(world, NodesForGangOf(world.model, *pod.scheduling), &gang, question);
  return question;
}

}  // namespace muster::control
