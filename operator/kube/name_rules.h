#ifndef MUSTER_OPERATOR_KUBE_NAME_RULES_H_
#define MUSTER_OPERATOR_KUBE_NAME_RULES_H_

#include <string_view>

// Which strings Kubernetes accepts where. Pure.
namespace muster::kube {

// RFC 1123 label: lower-case alphanumerics and '-', 1 to 63 characters.
bool IsDnsLabel(std::string_view text);
// RFC 1123 subdomain: labels (of any length) joined by '.', 1 to 253 characters.
bool IsDnsSubdomain(std::string_view text);
// "[subdomain/]name", name of 1 to 63 characters of [A-Za-z0-9_.-] with alphanumeric ends: keys of
// labels and annotations, finalizers.
bool IsQualifiedName(std::string_view text);
// Empty, or up to 63 characters of [A-Za-z0-9_.-] with alphanumeric ends.
bool IsLabelValue(std::string_view text);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_NAME_RULES_H_
