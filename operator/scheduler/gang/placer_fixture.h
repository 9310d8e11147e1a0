#ifndef MUSTER_OPERATOR_SCHEDULER_GANG_PLACER_FIXTURE_H_
#define MUSTER_OPERATOR_SCHEDULER_GANG_PLACER_FIXTURE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "operator/objects/object_records.h"
#include "operator/placement/cluster/tree_amounts.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/gang/gang_placer.h"

namespace muster::control {

using NodeLabels = std::map<std::string, std::string>;

// A cluster and one gang to be placed in it, without an API. Pods have the label app=gang unless
// they are given another app.
struct PlacerWorld {
  // Adds a ready node with room for `gpus` workers.
  void AddNode(const std::string& name, int gpus, NodeLabels labels = {}) {
    labels["kubernetes.io/hostname"] = name;
    const Json node = {{"metadata", {{"name", name}, {"labels", labels}}},
                       {"status",
                        {{"allocatable",
                          {{"cpu", "64"},
                           {"memory", "64Gi"},
                           {"nvidia.com/gpu", std::to_string(gpus)},
                           {"pods", "100"}}},
                         {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
    model.PutNode(name, std::make_shared<NodeRecord>(ParseNodeRecord(node).value()));
  }

  static Json Pod(const std::string& name, const std::string& app, Json spec) {
    spec["schedulerName"] = kSchedulerName;
    return {{"metadata",
             {{"name", name},
              {"namespace", "default"},
              {"uid", "uid-" + name},
              {"labels", {{"app", app}}}}},
            {"spec", std::move(spec)}};
  }

  // Binds a pod without GPUs.
  void Bind(const std::string& name, const std::string& app, const std::string& node, Json spec) {
    spec["nodeName"] = node;
    const Json pod = Pod(name, app, std::move(spec));
    model.PutPod({"default", name}, std::make_shared<PodRecord>(ParsePodRecord(pod).value()));
  }

  // Sets a gang of `count` workers with one GPU each, from one template: `spec` plus the GPU.
  void SetGang(int min, int count, Json spec) {
    spec["containers"][0]["name"] = "worker";
    spec["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1";
    for (int worker = 0; worker < count; ++worker) {
      const Json pod = Pod("worker-" + std::to_string(worker), "gang", spec);
      pods[worker] = std::make_shared<SchedulingPod>(ParseSchedulingPod(pod).value());
      gang.missing.push_back(worker);
    }
    gang.request.per_worker = TreeAmounts(pods.at(0)->requests, 1);
    gang.request.min = min;
    gang.request.max = count;
  }

  PlacementAnswer Place() { return PlaceGang(model, gang, pods); }

  ClusterModel model;
  PartialGang gang;
  std::map<int, PodPointer> pods;
};

inline Json AppSelector(const std::string& app) { return {{"matchLabels", {{"app", app}}}}; }

// Adds one required term per label to pods of `app`. `kind` is podAffinity or podAntiAffinity.
inline void Want(Json& spec, const std::string& kind, const std::string& app,
                 const std::vector<std::string>& labels) {
  Json& terms = spec["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"];
  for (const std::string& label : labels) {
    terms.push_back({{"topologyKey", label}, {"labelSelector", AppSelector(app)}});
  }
}

// Spreads the gang's own pods.
inline void Spread(Json& spec, const std::string& label, int max_skew) {
  spec["topologySpreadConstraints"].push_back({{"maxSkew", max_skew},
                                               {"topologyKey", label},
                                               {"whenUnsatisfiable", "DoNotSchedule"},
                                               {"labelSelector", AppSelector("gang")}});
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_GANG_PLACER_FIXTURE_H_
