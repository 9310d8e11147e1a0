#include "operator/objects/object_warnings.h"

#include "absl/strings/str_cat.h"
#include "operator/api/training_job.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/plan.h"

namespace muster::control {
namespace {

constexpr char kTopologyContradiction[] = "TopologyContradiction";
constexpr char kNodeFaulty[] = "NodeFaulty";
constexpr char kNoSuchPriorityClass[] = "NoSuchPriorityClass";

}  // namespace

void ObjectWarnings::AddNodes(const std::vector<TopologyFinding>& findings,
                              Warnings& warnings) const {
  for (const TopologyFinding& finding : findings) {
    Warning& warning = warnings[{finding.node, kTopologyContradiction}];
    warning.target = NodeTarget(finding.node);
    absl::StrAppend(&warning.sentence, warning.sentence.empty() ? "" : "; ", finding.sentence);
  }
  for (const NodeCache::Object& node : nodes_.List()) {
    if (!node->scheduling->complaint) continue;
    warnings[{node->name, kNodeFaulty}] = {
        NodeTarget(node->name),
        absl::StrCat("set aside, nothing is placed here: ", node->scheduling->complaint->sentence)};
  }
}

void ObjectWarnings::AddJobs(Warnings& warnings) const {
  for (const JobCache::Object& job : jobs_.List()) {
    if (!job->spec.has_priority_class_name() || IsFinished(job->status)) continue;
    std::string sentence = MissingPriorityClass(priorities_, job->spec.priority_class_name());
    if (sentence.empty()) continue;
    warnings[{job->uid, kNoSuchPriorityClass}] = {
        {kApiVersion, kTrainingJobKind, {job->ns, job->name}, job->uid}, std::move(sentence)};
  }
}

int ObjectWarnings::RunOnce(const std::vector<TopologyFinding>& findings) {
  Warnings warnings;
  AddNodes(findings, warnings);
  AddJobs(warnings);
  std::erase_if(recorded_, [&](const auto& entry) { return warnings.count(entry.first) == 0; });
  int events = 0;
  for (const auto& [key, warning] : warnings) {
    if (events >= kMostAtOnce) break;
    const auto known = recorded_.find(key);
    if (known != recorded_.end() && known->second == warning.sentence) continue;
    recorded_[key] = warning.sentence;
    events_.Record(warning.target, {Event::Type::kWarning, key.second, warning.sentence});
    ++events;
  }
  return events;
}

}  // namespace muster::control
