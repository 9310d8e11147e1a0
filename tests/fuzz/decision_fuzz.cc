// Reads a file of the decision log from any bytes: it must not crash, and whatever is read must
// survive being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "operator/kube/memory/wal_format.h"
#include "operator/queue/record/decision_record.h"
#include "operator/queue/record/recorded_input.h"
#include "proto/muster/v1alpha1/decision_record.pb.h"

namespace muster::control {
namespace {

void CheckOutcome(std::string_view bytes) {
  const auto decisions = DecodeOutcome(bytes);
  if (!decisions.ok()) return;
  const std::string again = EncodeOutcome(*decisions);
  const auto read = DecodeOutcome(again);
  if (!read.ok() || EncodeOutcome(*read) != again) std::abort();
}

// Checks the input of a decision before compression, because the fuzzer cannot guess deflated data.
void CheckInput(std::string_view bytes) {
  v1alpha1::RecordedInput recorded;
  if (!recorded.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const absl::StatusOr<DecisionInput> input = FromRecorded(recorded);
  if (!input.ok()) return;
  const std::string record = EncodeRecord(1, *input, {});
  const absl::StatusOr<DecisionRecord> read = DecodeRecord(record);
  if (!read.ok() || EncodeRecord(1, read->input, {}) != record) std::abort();
}

void CheckFile(std::string_view bytes) {
  kube::WalReader reader(bytes);
  while (const std::optional<std::string_view> record = reader.Next()) {
    const absl::StatusOr<DecisionRecord> read = DecodeRecord(*record);
    if (read.ok()) CheckOutcome(read->outcome);
  }
}

}  // namespace
}  // namespace muster::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  muster::control::CheckOutcome(bytes);
  muster::control::CheckInput(bytes);
  muster::control::CheckFile(bytes);
  muster::control::CheckFile(muster::kube::EncodeWalRecord(bytes));
  return 0;
}
