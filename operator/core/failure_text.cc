#include "operator/core/failure_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "operator/core/failure_policy.h"

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

std::string DescribeRankExit(int worker, const ExitReport& exit) {
  return absl::StrCat("rank ", exit.rank, " of worker ", worker, " ended with exit code ",
                      exit.exit_code, " (", exit.reason, ")");
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
  if (record.has_exit_code()) absl::StrAppend(&text, " ended with exit code ", record.exit_code());
  if (!record.has_exit_code()) absl::StrAppend(&text, " failed");
  if (record.has_reason()) absl::StrAppend(&text, " (", record.reason(), ")");
  if (record.class_() == Name(FailureClass::kProbeFailed)) {
    absl::StrAppend(&text, ", as if its livenessProbe or startupProbe had failed");
  }
  const std::string said = LastLine(log);
  if (!said.empty()) absl::StrAppend(&text, "; it said: ", said);
  return text;
}

}  // namespace muster::control
