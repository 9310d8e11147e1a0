#include "operator/core/failure/failure_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "operator/core/state/failure_policy.h"

namespace muster::control {
namespace {

constexpr size_t kMaxLastLine = 512;

}  // namespace

std::string LastLine(absl::string_view log) {
  const absl::string_view text = absl::StripAsciiWhitespace(log);
  const size_t newline = text.rfind('\n');
  const absl::string_view line =
      newline == absl::string_view::npos ? text : text.substr(newline + 1);
  return std::string(line.substr(0, kMaxLastLine));
}

std::string HowItEnded(int exit_code, absl::string_view reason) {
  // The signal of the agent is not the cause.
  if (reason == "DeadlineExceeded") return "did not answer in time and was killed by its agent";
  if (reason == "LinkLost") return "lost its link to the agent and was killed by it";
  return absl::StrCat("ended with exit code ", exit_code,
                      reason.empty() ? "" : absl::StrCat(" (", reason, ")"));
}

std::string DescribeRankExit(int worker, const ExitReport& exit) {
  return absl::StrCat("rank ", exit.rank, " of worker ", worker, " ",
                      HowItEnded(exit.exit_code, exit.reason));
}

std::string DescribeFailure(const v1alpha1::FailureRecord& record, absl::string_view log) {
  std::string text;
  if (record.has_rank()) {
    text = absl::StrCat("rank ", record.rank(), " of worker ", record.worker());
  } else if (record.has_pod()) {
    text = absl::StrCat("pod ", record.pod());
  } else {
    text = absl::StrCat("worker ", record.worker());
  }
  if (record.has_exit_code()) {
    absl::StrAppend(&text, " ", HowItEnded(record.exit_code(), record.reason()));
  } else {
    absl::StrAppend(&text, " failed");
    if (record.has_reason()) absl::StrAppend(&text, " (", record.reason(), ")");
  }
  if (record.class_() == Name(FailureClass::kProbeFailed)) {
    absl::StrAppend(&text, ", as if its livenessProbe or startupProbe had failed");
  }
  const std::string said = LastLine(log);
  if (!said.empty()) absl::StrAppend(&text, "; it said: ", said);
  return text;
}

}  // namespace muster::control
