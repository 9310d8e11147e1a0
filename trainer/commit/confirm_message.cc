#include "trainer/commit/confirm_message.h"

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "trainer/commit/equal_numbers.h"
#include "trainer/commit/version.h"

namespace muster::trainer {
namespace {

// Returns the numbers that must be equal on all ranks.
std::vector<int64_t> Numbers(const v1alpha1::StepDecision& voted) {
  const uint64_t hash = Hash64(voted.SerializeAsString());
  return {voted.round(), voted.version().attempt(), static_cast<int64_t>(hash % 65536)};
}

}  // namespace

std::vector<double> EncodeConfirm(const v1alpha1::StepDecision& voted, bool finite) {
  std::vector<double> out = {finite ? 0.0 : 1.0};
  for (const int64_t number : Numbers(voted)) {
    out.push_back(Residue(number));
    out.push_back(Residue(number) * Residue(number));
  }
  return out;
}

absl::StatusOr<bool> DecodeConfirm(std::span<const double> sum, const v1alpha1::StepDecision& voted,
                                   int64_t ranks) {
  const std::vector<int64_t> numbers = Numbers(voted);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (AllEqual(sum.subspan(2 * i + 1, 2), numbers[i], static_cast<double>(ranks))) continue;
    return absl::InternalError(absl::StrCat("ranks prepared different updates of ",
                                            ToText(voted.version()), ": nothing was applied"));
  }
  return sum[0] == 0.0;
}

}  // namespace muster::trainer
