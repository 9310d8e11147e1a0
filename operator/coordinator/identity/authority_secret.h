#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_AUTHORITY_SECRET_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_AUTHORITY_SECRET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "operator/coordinator/identity/certificate_authority.h"
#include "operator/kube/api.h"

namespace muster::control {

// The only store of the authority's key: a Secret of type kubernetes.io/tls, whose tls.crt may list
// older authorities to trust after the first.
inline constexpr char kAuthoritySecret[] = "muster-coordinator-ca";

// Reads the authority, or creates it: if several replicas start together, one wins and all use its
// authority. Returns kInvalidArgument if the Secret does not hold an authority; it is never
// overwritten.
absl::StatusOr<CertificateAuthority> LoadOrCreateAuthority(kube::Api& api,
                                                           const std::string& name_space,
                                                           absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_AUTHORITY_SECRET_H_
