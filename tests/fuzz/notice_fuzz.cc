// Reads answers of a metadata service from any bytes: no crash, what is accepted is a notice that
// can be reported, and the same bytes mean the same again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/notices/aws_notices.h"
#include "agent/notices/azure_notices.h"

namespace muster::agent {
namespace {

void Check(const std::string& bytes) {
  const absl::Time now = absl::FromUnixSeconds(1'764'058'800);
  const absl::StatusOr<Notice> notice = ParseInstanceAction(bytes, now);
  if (notice.ok()) {
    if (!notice->deadline || notice->text.size() > kMaxNoticeText) std::abort();
    if (*ParseInstanceAction(bytes, now) != *notice) std::abort();
  }
  const absl::StatusOr<std::vector<AzureEvent>> events = ParseScheduledEvents(bytes, "gpu_7");
  if (!events.ok()) return;
  absl::Time last = absl::InfinitePast();
  for (const AzureEvent& event : *events) {
    if (event.not_before.value_or(absl::InfinitePast()) < last) std::abort();
    last = event.not_before.value_or(last);
  }
}

}  // namespace
}  // namespace muster::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::agent::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
