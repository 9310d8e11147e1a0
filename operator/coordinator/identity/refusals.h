#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_REFUSALS_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_REFUSALS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace muster::control {

// The reason why a peer was refused. The names are a metric's label values.
enum class Refusal {
  kHandshakeFailed,     // plaintext, a foreign or expired certificate, not our protocol
  kNoCertificate,       // Attach without a client certificate
  kBadCertificate,      // a certificate of ours that names no worker and no node
  kOtherJob,            // the hello names another job than the certificate
  kOtherWorker,         // the hello names another worker index
  kOtherIncarnation,    // the hello names another incarnation
  kOtherPod,            // the hello names another pod
  kOtherNode,           // the hello of a node agent names another node, or its pod is another one
  kOtherProtocol,       // the agent speaks no protocol of this operator
  kReplaced,            // a newer incarnation of this worker exists
  kCertificateExpired,  // the stream outlived its certificate
  kTokenRejected,       // the API server did not accept the token: expired, forged, pod deleted
  kWrongAudience,       // a token that was not made for the coordinator
  kUnboundToken,        // a token that is not bound to a pod
  kNotAWorker,          // a token of a pod that is neither a worker of a job nor a node agent
  kBadRequest,          // malformed, or too large
  kTooOften,            // more requests than a peer, or all of them, may make
  kCount,
};
std::string_view Name(Refusal reason);

// Returns an error that is a refusal; its reason travels as a payload.
absl::Status Refused(Refusal reason, absl::StatusCode code, std::string_view message);
// Returns nullopt for an error that is no refusal: the same request may succeed later.
std::optional<Refusal> RefusalOf(const absl::Status& status);

// Counts of what CoordinatorIdentity has done. They only grow.
struct IdentityCounters {
  int64_t certificates_signed = 0;
  std::array<int64_t, static_cast<size_t>(Refusal::kCount)> refused = {};

  int64_t Of(Refusal reason) const { return refused[static_cast<size_t>(reason)]; }
};

// Counts refusals and logs each (peer, reason) at most once per kQuiet. Remembers at most kMaxPeers
// pairs, so that an attacker cannot fill the memory. Thread-safe.
class RefusalLog {
 public:
  static constexpr absl::Duration kQuiet = absl::Minutes(1);
  static constexpr size_t kMaxPeers = 4096;

  explicit RefusalLog(const Clock& clock) : clock_(clock) {}

  // Counts `status`, and may log it, if it is a refusal.
  void Note(const absl::Status& status, const std::string& peer);
  void NoteSigned();
  IdentityCounters counters() const;
  // Returns the number of lines logged so far.
  int64_t logged() const;

 private:
  bool MayLog(Refusal reason, const std::string& peer) MUSTER_REQUIRES(mu_);

  const Clock& clock_;
  mutable Mutex mu_;
  IdentityCounters counters_ MUSTER_GUARDED_BY(mu_);
  std::map<std::pair<std::string, Refusal>, absl::Time> logged_at_ MUSTER_GUARDED_BY(mu_);
  int64_t logged_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_REFUSALS_H_
