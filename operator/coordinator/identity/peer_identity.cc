#include "operator/coordinator/identity/peer_identity.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::control {
namespace {

constexpr char kPrefix[] = "spiffe://muster/";
constexpr size_t kMaxUri = 2048;  // SPIFFE's own bound

// Reads digits as ToUri() writes them: without sign and leading zeros.
bool ReadNumber(const std::string& text, int32_t& value) {
  return absl::SimpleAtoi(text, &value) && absl::StrCat(value) == text && value >= 0;
}

}  // namespace

bool IsUriName(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
  });
}

std::string ToUri(const PeerIdentity& identity) {
  return absl::StrCat(kPrefix, "ns/", identity.ns, "/job/", identity.job, "/", identity.job_uid,
                      "/worker/", identity.index, "/", identity.incarnation, "/pod/", identity.pod,
                      "/", identity.pod_uid);
}

absl::StatusOr<PeerIdentity> ParsePeerUri(absl::string_view uri) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(uri.substr(0, 256), " does not name a worker: expected ", kPrefix,
                     "ns/NAMESPACE/job/NAME/UID/worker/INDEX/INCARNATION/pod/NAME/UID"));
  };
  absl::string_view path = uri;
  if (uri.size() > kMaxUri || !absl::ConsumePrefix(&path, kPrefix)) return wrong();
  const std::vector<std::string> part = absl::StrSplit(path, '/');
  if (part.size() != 11 || part[0] != "ns" || part[2] != "job" || part[5] != "worker" ||
      part[8] != "pod") {
    return wrong();
  }
  PeerIdentity identity{
      .ns = part[1], .job = part[3], .job_uid = part[4], .pod = part[9], .pod_uid = part[10]};
  const bool named = IsUriName(identity.ns) && IsUriName(identity.job) &&
                     IsUriName(identity.job_uid) && IsUriName(identity.pod) &&
                     IsUriName(identity.pod_uid);
  if (!named || !ReadNumber(part[6], identity.index) ||
      !ReadNumber(part[7], identity.incarnation)) {
    return wrong();
  }
  return identity;
}

std::string Describe(const PeerIdentity& identity) {
  return absl::StrCat(identity.ns, "/", identity.job, " worker ", identity.index, " incarnation ",
                      identity.incarnation);
}

Mismatch Compare(const PeerIdentity& proven, const v1alpha1::WorkerId& claimed) {
  if (proven.ns != claimed.namespace_() || proven.job != claimed.job() ||
      proven.job_uid != claimed.job_uid()) {
    return Mismatch::kOtherJob;
  }
  if (proven.index != claimed.index()) return Mismatch::kOtherWorker;
  if (proven.incarnation != claimed.incarnation()) return Mismatch::kOtherIncarnation;
  return proven.pod_uid == claimed.pod_uid() ? Mismatch::kNone : Mismatch::kOtherPod;
}

}  // namespace muster::control
