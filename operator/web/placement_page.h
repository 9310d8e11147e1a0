#ifndef MUSTER_OPERATOR_WEB_PLACEMENT_PAGE_H_
#define MUSTER_OPERATOR_WEB_PLACEMENT_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/object_meta.h"
#include "operator/scheduler/scheduler.h"
#include "operator/web/web_deps.h"

// The answers of the running placement, without HTTP: the reason for a job's place or for having
// none, the place that another job would get, and the cluster as a tree. Thread-safe. Each call
// takes about as long as one decision, or as the decisions until the job's start. None changes
// anything.
namespace muster::control {

// clang-format off
// Returns {"job", "reason", "sentence", "score", "level", "domain", "asked", "workers", "fitsNow",
//          "relaxations", "nodes", "nodesLeftOut", "warnings"},
// also "decision", its number for `muster replay`, if decisions are kept, and for a waiting job
//         "start": {"kind", "sentence", "at", "inSeconds", "workers", "awaited", "ahead"}
// (see operator/queue/forecast/forecast.h). kNotFound for an unknown job.
// clang-format on
absl::StatusOr<Json> PlacementPage(const WebDeps& deps, const kube::ObjectKey& key);

// Returns the same for a TrainingJob as JSON, which need not exist, as if its pods existed now,
// with "start" and "victims": the jobs that would make room for it. If it has to wait, "workers"
// and "score" are those of its start. kInvalidArgument for a job that the API server would reject.
// With `containers` its pods request what they would on a cluster.
absl::StatusOr<Json> WhatIfPage(const Scheduler& scheduler, const std::string& manifest,
                                bool containers = false);

// Returns {"name", "level", "nodes", "usable", "allocatable", "free", "children"}, `depth` levels
// deep. If nodes are not usable, "notUsable" counts them by their first reason; a host with a
// problem has "health": [{"reason", "sentence"}].
Json TopologyPage(const Scheduler& scheduler, int depth);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_PLACEMENT_PAGE_H_
