#include "operator/placement/filter/filter_fixtures.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "operator/placement/cluster/scheduling_node.h"

namespace muster::control {

Json FromText(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return ParseJson(text).value();
}

SchedulingPod PodOf(const std::string& name, const std::string& spec, const std::string& app) {
  Json json = {{"metadata",
                {{"name", name},
                 {"namespace", "default"},
                 {"uid", "uid-" + name},
                 {"labels", {{"app", app}}}}},
               {"spec", FromText(spec)}};
  return ParseSchedulingPod(json).value();
}

const NodeState& FilterWorld::AddNode(const std::string& name, const std::string& labels,
                                      const std::string& spec) {
  Json all = FromText(labels);
  all["kubernetes.io/hostname"] = name;
  const Json json = {
      {"metadata", {{"name", name}, {"labels", std::move(all)}}},
      {"spec", FromText(spec)},
      {"status",
       {{"allocatable",
         {{"cpu", "8"}, {"memory", "32Gi"}, {"nvidia.com/gpu", "8"}, {"pods", "10"}}},
        {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
  snapshot.SetNode(std::make_shared<SchedulingNode>(ParseSchedulingNode(json).value()));
  return node(name);
}

void FilterWorld::Bind(const SchedulingPod& pod, const std::string& node) {
  if (bound.count(pod.name) > 0) Unbind(pod.name);
  auto& [pointer, where] = bound[pod.name];
  pointer = std::make_shared<SchedulingPod>(pod);
  where = node;
  snapshot.AddPod(pointer, node);
}

void FilterWorld::Unbind(const std::string& pod) {
  const auto& [pointer, where] = bound.at(pod);
  snapshot.RemovePod(pointer, where);
}

}  // namespace muster::control
