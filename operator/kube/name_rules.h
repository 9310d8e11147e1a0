#ifndef MUSTER_OPERATOR_KUBE_NAME_RULES_H_
#define MUSTER_OPERATOR_KUBE_NAME_RULES_H_

#include <string_view>

// Kubernetes' syntax rules for names, keys and label values. Pure.
namespace muster::kube {

// Accepts an RFC 1123 label: lower-case alphanumerics and '-', 1 to 63 characters.
bool IsDnsLabel(std::string_view text);
// Accepts an RFC 1123 subdomain: labels (of any length) joined by '.', 1 to 253 characters.
bool IsDnsSubdomain(std::string_view text);
// Accepts "[subdomain/]name", with a name of 1 to 63 characters of [A-Za-z0-9_.-] and alphanumeric
// ends: keys of labels and annotations, and finalizers.
bool IsQualifiedName(std::string_view text);
// Accepts the empty string, or up to 63 characters of [A-Za-z0-9_.-] with alphanumeric ends.
bool IsLabelValue(std::string_view text);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_NAME_RULES_H_
