#ifndef MUSTER_OPERATOR_WEB_PLACEMENT_PAGE_H_
#define MUSTER_OPERATOR_WEB_PLACEMENT_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/object_meta.h"
#include "operator/scheduler/scheduler.h"
#include "operator/web/web_deps.h"

// Why a job is where it is or nowhere, where another would go, and the cluster as a tree: the
// answers of the placement that runs, without HTTP. Thread-safe; each takes about as long as one
// decision, or as the decisions until the job's start, and none changes anything.
namespace muster::control {

// {"job", "reason", "sentence", "score", "level", "domain", "asked", "workers", "fitsNow",
//  "relaxations", "nodes", "nodesLeftOut", "warnings"}, and "decision", its number for muster
//  replay, where
// decisions are kept; of one that waits "start": {"kind", "sentence", "at", "inSeconds", "workers",
// "awaited", "ahead"}, see operator/queue/forecast/forecast.h; kNotFound.
absl::StatusOr<Json> PlacementPage(const WebDeps& deps, const kube::ObjectKey& key);

// Of a TrainingJob as JSON, which need not exist: the same, as if its pods were there now, with
// "start" and "victims": who would make room for it. Where it has to wait, "workers" and "score"
// are those of its start. kInvalidArgument for what the API server would refuse.
absl::StatusOr<Json> WhatIfPage(const Scheduler& scheduler, const std::string& manifest);

// {"name", "level", "nodes", "usable", "allocatable", "free", "children"}, `depth` levels deep;
// where nodes are not usable "notUsable": how many by their first reason, and of a host in trouble
// "health": [{"reason", "sentence"}].
Json TopologyPage(const Scheduler& scheduler, int depth);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_PLACEMENT_PAGE_H_
