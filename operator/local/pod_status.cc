#include "operator/local/pod_status.h"

#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

Json Condition(const Json& pod, const char* type, bool status, const char* reason, absl::Time now) {
  Json condition = {{"type", type},
                    {"status", status ? "True" : "False"},
                    {"lastTransitionTime", kube::FormatTime(now)}};
  if (reason != nullptr) condition["reason"] = reason;
  const Json* before = kube::Find(pod, {"status", "conditions"});
  if (before == nullptr || !before->is_array()) return condition;
  for (const Json& old : *before) {
    if (kube::StringAt(old, {"type"}) != type) continue;
    if (kube::StringAt(old, {"status"}) != condition["status"]) continue;
    if (old.contains("lastTransitionTime")) {
      condition["lastTransitionTime"] = old["lastTransitionTime"];
    }
  }
  return condition;
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
  std::string image;
  const Json* containers = kube::Find(pod, {"spec", "containers"});
  if (containers != nullptr && containers->is_array()) {
    for (const Json& container : *containers) {
      if (kube::StringAt(container, {"name"}) == "worker") {
        image = kube::StringAt(container, {"image"});
      }
    }
  }
  const bool running = !state.exit.has_value();
  Json status = {{"name", "worker"},           {"image", image},   {"imageID", ""},
                 {"restartCount", 0},          {"ready", running}, {"started", running},
                 {"lastState", Json::object()}};
  if (running) {
    status["state"] = {{"running", {{"startedAt", kube::FormatTime(state.started_at)}}}};
  } else {
    status["state"] = {{"terminated", Terminated(state)}};
  }
  return status;
}

}  // namespace

Json PodStatusOf(const Json& pod, const ContainerState& state) {
  const bool running = !state.exit.has_value();
  const bool succeeded = !running && state.exit->code == 0;
  const absl::Time now = running ? state.started_at : state.finished_at;
  const char* not_ready = running ? nullptr : succeeded ? "PodCompleted" : "PodFailed";
  Json status = {{"phase", running     ? "Running"
                           : succeeded ? "Succeeded"
                                       : "Failed"},
                 {"hostIP", "127.0.0.1"},
                 {"podIP", "127.0.0.1"},
                 {"podIPs", Json::array({{{"ip", "127.0.0.1"}}})},
                 {"qosClass", "BestEffort"},
                 {"startTime", kube::FormatTime(state.started_at)}};
  status["conditions"] = Json::array({Condition(pod, "PodScheduled", true, nullptr, now),
                                      Condition(pod, "Initialized", true, nullptr, now),
                                      Condition(pod, "ContainersReady", running, not_ready, now),
                                      Condition(pod, "Ready", running, not_ready, now)});
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
