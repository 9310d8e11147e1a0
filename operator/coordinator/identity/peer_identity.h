#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_IDENTITY_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::control {

// The identity in a worker's certificate: one incarnation of one worker of one job, in one pod. In
// the certificate it is the one URI among the alternative names:
//
//   spiffe://muster/ns/NAMESPACE/job/NAME/UID/worker/INDEX/INCARNATION/pod/NAME/UID
//
// A value; pure.
struct PeerIdentity {
  std::string ns;
  std::string job;
  std::string job_uid;
  int32_t index = 0;
  int32_t incarnation = 0;
  std::string pod;
  std::string pod_uid;

  bool operator==(const PeerIdentity&) const = default;
};

// Returns true if `text` consists of the characters of Kubernetes' names and UIDs, which need no
// escaping in a URI.
bool IsUriName(absl::string_view text);

std::string ToUri(const PeerIdentity& identity);
// Returns kInvalidArgument for any text that ToUri() would not have written.
absl::StatusOr<PeerIdentity> ParsePeerUri(absl::string_view uri);
// Returns e.g. "team/gpt worker 1 incarnation 3".
std::string Describe(const PeerIdentity& identity);

// The first difference between a worker's claim and the identity that its certificate proves.
enum class Mismatch { kNone, kOtherJob, kOtherWorker, kOtherIncarnation, kOtherPod };
Mismatch Compare(const PeerIdentity& proven, const v1alpha1::WorkerId& claimed);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_PEER_IDENTITY_H_
