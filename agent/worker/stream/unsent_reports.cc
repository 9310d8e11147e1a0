#include "agent/worker/stream/unsent_reports.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/delimited_message_util.h"

namespace muster::agent {
namespace {

using v1alpha1::AgentMessage;

// An agent keeps fewer: see agent/core/report_buffer.h.
constexpr size_t kMaxBytes = size_t{16} << 20;

}  // namespace

absl::Status WriteUnsentReports(Files& files, const std::string& path,
                                const std::vector<AgentMessage>& reports) {
  std::ostringstream out;
  for (const AgentMessage& report : reports) {
    if (!google::protobuf::util::SerializeDelimitedToOstream(report, &out)) {
      return absl::InternalError("a report cannot be encoded");
    }
  }
  return WriteFileAtomically(files, path, out.str());
}

absl::StatusOr<std::vector<AgentMessage>> ReadUnsentReports(Files& files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(files, path, kMaxBytes));
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  std::vector<AgentMessage> reports;
  while (true) {
    AgentMessage report;
    bool at_end = false;
    if (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&report, &in, &at_end)) {
      reports.push_back(std::move(report));
      continue;
    }
    if (at_end) return reports;
    return absl::DataLossError(absl::StrCat(path, " holds no reports of an agent"));
  }
}

}  // namespace muster::agent
