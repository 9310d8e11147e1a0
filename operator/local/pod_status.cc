#include "operator/local/pod_status.h"

#include <utility>
#include <vector>

#include "operator/kube/object_meta.h"
#include "operator/local/pod_command.h"

namespace muster::control {
namespace {

struct Wanted {
  const char* type;
  bool status;
  const char* reason;  // may be null
};

Json NewCondition(const Wanted& wanted, absl::Time now) {
  Json condition = {{"type", wanted.type},
                    {"status", wanted.status ? "True" : "False"},
                    {"lastTransitionTime", kube::FormatTime(now)}};
  if (wanted.reason != nullptr) condition["reason"] = wanted.reason;
  return condition;
}

// Returns the wanted conditions in their order, then those that others wrote.
Json Conditions(const Json& pod, const std::vector<Wanted>& wanted, absl::Time now) {
  Json conditions = Json::array();
  for (const Wanted& want : wanted) conditions.push_back(NewCondition(want, now));
  const Json* before = kube::Find(pod, {"status", "conditions"});
  if (before == nullptr || !before->is_array()) return conditions;
  for (const Json& old : *before) {
    Json* ours = nullptr;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (kube::StringAt(old, {"type"}) == wanted[i].type) ours = &conditions[i];
    }
    if (ours == nullptr) {
      conditions.push_back(old);
    } else if (kube::StringAt(old, {"status"}) == kube::StringAt(*ours, {"status"})) {
      Json kept = old;
      kept.erase("reason");
      kept.erase("message");
      if (ours->contains("reason")) kept["reason"] = (*ours)["reason"];
      *ours = std::move(kept);
    }
  }
  return conditions;
}

Json Terminated(const ContainerState& state) {
  const ExitStatus& exit = *state.exit;
  Json terminated = {{"exitCode", exit.code},
                     {"reason", exit.code == 0 ? "Completed" : "Error"},
                     {"startedAt", kube::FormatTime(state.started_at)},
                     {"finishedAt", kube::FormatTime(state.finished_at)}};
  if (exit.signal != 0) terminated["signal"] = exit.signal;
  if (!state.start_error.empty()) {
    terminated["reason"] = "StartError";
    terminated["message"] = state.start_error;
  }
  return terminated;
}

Json ContainerStatus(const Json& pod, const ContainerState& state) {
  const Json* worker = WorkerContainer(pod);
  const std::string image = worker == nullptr ? "" : kube::StringAt(*worker, {"image"});
  const bool running = !state.exit.has_value() && state.waiting.empty();
  Json status = {{"name", "worker"},           {"image", image},   {"imageID", ""},
                 {"restartCount", 0},          {"ready", running}, {"started", running},
                 {"lastState", Json::object()}};
  if (!state.waiting.empty()) {
    status["state"] = {{"waiting", {{"reason", "ContainerCreating"}, {"message", state.waiting}}}};
  } else if (running) {
    status["state"] = {{"running", {{"startedAt", kube::FormatTime(state.started_at)}}}};
  } else {
    status["state"] = {{"terminated", Terminated(state)}};
  }
  return status;
}

// Returns the reason of the pod's Ready conditions when they are False.
const char* NotReadyReason(const ContainerState& state) {
  if (!state.waiting.empty()) return "ContainersNotReady";
  if (!state.exit.has_value()) return nullptr;
  return state.exit->code == 0 ? "PodCompleted" : "PodFailed";
}

const char* PhaseOf(const ContainerState& state) {
  if (!state.waiting.empty()) return "Pending";
  if (!state.exit.has_value()) return "Running";
  return state.exit->code == 0 ? "Succeeded" : "Failed";
}

}  // namespace

Json PodStatusOf(const Json& pod, const ContainerState& state) {
  const char* not_ready = NotReadyReason(state);
  const bool ready = not_ready == nullptr;
  const absl::Time now = state.exit.has_value() ? state.finished_at : state.started_at;
  const Json* before = kube::Find(pod, {"status"});
  Json status = before != nullptr && before->is_object() ? *before : Json::object();
  status["phase"] = PhaseOf(state);
  status["hostIP"] = "127.0.0.1";
  status["hostIPs"] = Json::array({{{"ip", "127.0.0.1"}}});
  if (state.waiting.empty()) {
    status["podIP"] = "127.0.0.1";
    status["podIPs"] = Json::array({{{"ip", "127.0.0.1"}}});
  }
  if (!status.contains("qosClass")) status["qosClass"] = "BestEffort";
  if (!status.contains("startTime")) status["startTime"] = kube::FormatTime(state.started_at);
  status["conditions"] = Conditions(pod,
                                    {{"PodScheduled", true, nullptr},
                                     {"Initialized", true, nullptr},
                                     {"ContainersReady", ready, not_ready},
                                     {"Ready", ready, not_ready}},
                                    now);
  status["containerStatuses"] = Json::array({ContainerStatus(pod, state)});
  if (!state.start_error.empty()) {
    status["reason"] = "StartError";
    status["message"] = state.start_error;
  }
  return status;
}

bool IsTerminal(const Json& pod) {
  const std::string phase = kube::StringAt(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace muster::control
