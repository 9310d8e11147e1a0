#ifndef MUSTER_OPERATOR_NODES_AUTHORITY_CONFIG_H_
#define MUSTER_OPERATOR_NODES_AUTHORITY_CONFIG_H_

#include <string>

#include "absl/status/status.h"
#include "operator/kube/api.h"

namespace muster::control {

// The ConfigMap with the authority that node agents trust, under the key ca.crt.
inline constexpr char kAuthorityConfigMap[] = "muster-coordinator-ca";

// Writes the authorities' certificates to the ConfigMap in `name_space`, if they are not there
// already: node agents mount it. Every replica does it at its start. Logs its failure, which keeps
// only new node agents away.
absl::Status PublishAuthority(kube::Api& api, const std::string& name_space,
                              const std::string& authority_pem);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NODES_AUTHORITY_CONFIG_H_
