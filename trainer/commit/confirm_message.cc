#include "trainer/commit/confirm_message.h"

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "trainer/commit/version.h"

namespace muster::trainer {
namespace {

// The numbers that must be equal on all ranks: the round, the attempt, and a hash of the decision.
// They are so small that the squares of 2 million ranks add up exactly.
std::vector<double> Residues(const v1alpha1::StepDecision& voted) {
  const uint64_t hash = Hash64(voted.SerializeAsString());
  return {static_cast<double>(voted.round() % 65536),
          static_cast<double>(voted.version().attempt() % 65536),
          static_cast<double>(hash % 65536)};
}

}  // namespace

std::vector<double> EncodeConfirm(const v1alpha1::StepDecision& voted, bool finite) {
  std::vector<double> out = {finite ? 0.0 : 1.0};
  for (const double residue : Residues(voted)) {
    out.push_back(residue);
    out.push_back(residue * residue);
  }
  return out;
}

absl::StatusOr<bool> DecodeConfirm(std::span<const double> sum, const v1alpha1::StepDecision& voted,
                                   int64_t ranks) {
  const auto count = static_cast<double>(ranks);
  const std::vector<double> residues = Residues(voted);
  for (size_t i = 0; i < residues.size(); ++i) {
    // The sum and the sum of squares together show exactly whether all numbers are equal.
    if (sum[2 * i + 1] == count * residues[i] &&
        sum[2 * i + 2] == count * residues[i] * residues[i]) {
      continue;
    }
    return absl::InternalError(absl::StrCat("ranks prepared different updates of ",
                                            ToText(voted.version()), ": nothing was applied"));
  }
  return sum[0] == 0.0;
}

}  // namespace muster::trainer
