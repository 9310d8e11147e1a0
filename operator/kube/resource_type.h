#ifndef MUSTER_OPERATOR_KUBE_RESOURCE_TYPE_H_
#define MUSTER_OPERATOR_KUBE_RESOURCE_TYPE_H_

#include <string>
#include <string_view>

namespace muster::kube {

// A kind of object that the operator reads or writes. Values are constants with static storage.
struct ResourceType {
  std::string_view group;  // empty for the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = true;
  // True when Update ignores status and UpdateStatus ignores everything else.
  bool status_subresource = false;

  // Returns "v1" or "coordination.k8s.io/v1", as in an object's apiVersion.
  std::string ApiVersion() const {
    return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
  }
  friend bool operator==(const ResourceType& a, const ResourceType& b) {
    return a.group == b.group && a.plural == b.plural;
  }
};

inline constexpr ResourceType kPods{"", "v1", "pods", "Pod", true, true};
inline constexpr ResourceType kNodes{"", "v1", "nodes", "Node", false, true};
inline constexpr ResourceType kEvents{"", "v1", "events", "Event", true, false};
inline constexpr ResourceType kSecrets{"", "v1", "secrets", "Secret", true, false};
inline constexpr ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap", true, false};
inline constexpr ResourceType kServiceAccounts{"",   "v1", "serviceaccounts", "ServiceAccount",
                                               true, false};
inline constexpr ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false, true};
inline constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true, false};
inline constexpr ResourceType kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies",
                                               "NetworkPolicy",     true, false};
inline constexpr ResourceType kTrainingJobs{"muster.dev",  "v1alpha1", "trainingjobs",
                                            "TrainingJob", true,       true};

// Served by a real API server only.
inline constexpr ResourceType kTokenReviews{"authentication.k8s.io", "v1",  "tokenreviews",
                                            "TokenReview",           false, false};
inline constexpr ResourceType kSubjectAccessReviews{
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false, false};
inline constexpr ResourceType kCustomResourceDefinitions{
    "apiextensions.k8s.io",     "v1",  "customresourcedefinitions",
    "CustomResourceDefinition", false, true};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_RESOURCE_TYPE_H_
