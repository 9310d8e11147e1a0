#ifndef MUSTER_OPERATOR_WEB_WEB_DEPS_H_
#define MUSTER_OPERATOR_WEB_WEB_DEPS_H_

#include <functional>

#include "operator/coordinator/agent_registry.h"
#include "operator/coordinator/progress_board.h"
#include "operator/kube/api.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/scheduler.h"
#include "operator/runtime/work_queue.h"
#include "operator/web/metrics.h"

namespace muster::control {

// What the pages show. All of it thread-safe, and all of it must outlive the server.
struct WebDeps {
  kube::Api& api;
  const JobCache& jobs;
  const PodCache& pods;
  AgentRegistry& registry;
  const ProgressBoard& progress;
  const Controller& controller;
  const Scheduler& scheduler;
  const WorkQueue& queue;
  const ReconcileMetrics& reconciles;
  std::function<bool()> ready;  // the caches have synced
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_WEB_DEPS_H_
