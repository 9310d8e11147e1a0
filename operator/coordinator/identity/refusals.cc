#include "operator/coordinator/identity/refusals.h"

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "base/logging.h"

namespace muster::control {
namespace {

constexpr char kPayload[] = "muster.dev/refusal";

}  // namespace

std::string_view Name(Refusal reason) {
  switch (reason) {
    case Refusal::kHandshakeFailed:
      return "HandshakeFailed";
    case Refusal::kNoCertificate:
      return "NoCertificate";
    case Refusal::kBadCertificate:
      return "BadCertificate";
    case Refusal::kOtherJob:
      return "OtherJob";
    case Refusal::kOtherWorker:
      return "OtherWorker";
    case Refusal::kOtherIncarnation:
      return "OtherIncarnation";
    case Refusal::kOtherPod:
      return "OtherPod";
    case Refusal::kOtherNode:
      return "OtherNode";
    case Refusal::kOtherProtocol:
      return "OtherProtocol";
    case Refusal::kReplaced:
      return "Replaced";
    case Refusal::kCertificateExpired:
      return "CertificateExpired";
    case Refusal::kTokenRejected:
      return "TokenRejected";
    case Refusal::kWrongAudience:
      return "WrongAudience";
    case Refusal::kUnboundToken:
      return "UnboundToken";
    case Refusal::kNotAWorker:
      return "NotAWorker";
    case Refusal::kBadRequest:
      return "BadRequest";
    case Refusal::kTooOften:
      return "TooOften";
    case Refusal::kCount:
      break;
  }
  return "Unknown";
}

absl::Status Refused(Refusal reason, absl::StatusCode code, std::string_view message) {
  absl::Status status(code, absl::string_view(message.data(), message.size()));
  status.SetPayload(kPayload, absl::Cord(std::string(1, static_cast<char>(reason))));
  return status;
}

std::optional<Refusal> RefusalOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value() || payload->empty()) return std::nullopt;
  return static_cast<Refusal>((*payload)[0]);
}

void RefusalLog::Note(const absl::Status& status, const std::string& peer) {
  const std::optional<Refusal> reason = RefusalOf(status);
  if (!reason.has_value()) return;
  {
    MutexLock lock(mu_);
    ++counters_.refused[static_cast<size_t>(*reason)];
    if (!MayLog(*reason, peer)) return;
    ++logged_;
  }
  MUSTER_LOG(WARN, "peer refused", {"peer", peer}, {"reason", Name(*reason)},
             {"error", status.message()});
}

bool RefusalLog::MayLog(Refusal reason, const std::string& peer) {
  const absl::Time now = clock_.Monotonic();
  const auto [it, fresh] = logged_at_.try_emplace({peer, reason}, now);
  if (!fresh && now - it->second < kQuiet) return false;
  it->second = now;
  if (logged_at_.size() > kMaxPeers) {
    std::erase_if(logged_at_, [&](const auto& entry) { return now - entry.second >= kQuiet; });
    // There are too many pairs at once: logging some of them again is the lesser evil.
    if (logged_at_.size() > kMaxPeers) logged_at_.clear();
  }
  return true;
}

void RefusalLog::NoteSigned() {
  MutexLock lock(mu_);
  ++counters_.certificates_signed;
}

IdentityCounters RefusalLog::counters() const {
  MutexLock lock(mu_);
  return counters_;
}

int64_t RefusalLog::logged() const {
  MutexLock lock(mu_);
  return logged_;
}

}  // namespace muster::control
