#include "trainer/checkpoint/round_mark.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

constexpr size_t kMaxMark = 4 << 10;

std::string MarkPath(const std::string& uri) {
  return JoinPath(JoinPath(uri, kClaimName), "round.json");
}

std::string Format(const RoundMark& mark) {
  return DumpJson({{"jobUid", mark.job_uid}, {"term", mark.term}, {"round", mark.round}}, 1);
}

}  // namespace

absl::Status WriteRoundMark(Files& files, const std::string& uri, const RoundMark& mark) {
  MUSTER_RETURN_IF_ERROR(files.Stat(JoinPath(uri, kClaimName)).status());
  return WriteFileAtomically(files, MarkPath(uri), Format(mark));
}

absl::Status FindRoundMark(Files& files, const std::string& uri, const RoundMark& mark) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files, MarkPath(uri), kMaxMark));
  if (text == Format(mark)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(MarkPath(uri), ": is of another round"));
}

}  // namespace muster::trainer
