#include "trainer/commit/step_messages.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "trainer/commit/version.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {
namespace {

constexpr size_t kVersion = 5;     // the step, its square, the attempt, its square
constexpr size_t kTrajectory = 9;  // and its square
constexpr size_t kCopy = 11;
constexpr size_t kSaveDue = 12;
constexpr size_t kWriting = 13;
constexpr size_t kTuning = 14;  // and its square
constexpr size_t kHeader = 16;

constexpr size_t kMemoryNumbers = 4;  // of a rank's device, as DeviceMemory has them

// A summed message shows exactly whether all ranks sent one number, if each sends the number's
// residue and the square of that.

// Keeps numbers so small that the squares of 2 million ranks add up exactly. Numbers 65,536 apart
// look the same.
double Residue(int64_t number) { return static_cast<double>(number % 65536); }

// Returns true if `sums`, of the residues and of their squares, are those of `ranks` times
// `number`.
bool AllEqual(std::span<const double> sums, int64_t number, double ranks) {
  const double residue = Residue(number);
  return sums[0] == ranks * residue && sums[1] == ranks * residue * residue;
}

int64_t Shortened(uint64_t hash) { return static_cast<int64_t>(hash % 65536); }
// No hash is sent as 0, which stands for none.
int64_t NotZero(uint64_t hash) { return static_cast<int64_t>(hash % 65535) + 1; }

// Returns the mean of the numbers that the other ranks sent in place of `number`.
double MeanOfOthers(double sum, int64_t number, double ranks) {
  const double residue = Residue(number);
  return static_cast<double>(number) - residue + (sum - residue) / (ranks - 1.0);
}

double Sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Returns the part of the message that decides.
std::vector<double> EncodeDecisive(const VoteContribution& share, bool deterministic,
                                   int64_t micro_batches, int64_t chunks) {
  std::vector<double> out(kHeader);
  out[3] = share.save ? 1.0 : 0.0;
  out[4] = share.stop ? 1.0 : 0.0;
  out[kCopy] = share.copy ? 1.0 : 0.0;
  out[kSaveDue] = share.save_due ? 1.0 : 0.0;
  out[kWriting] = share.writing ? 1.0 : 0.0;
  const double step = Residue(share.version.step()), attempt = Residue(share.version.attempt());
  out[kVersion] = step;
  out[kVersion + 1] = step * step;
  out[kVersion + 2] = attempt;
  out[kVersion + 3] = attempt * attempt;
  out[kTrajectory] = Residue(Shortened(share.trajectory));
  out[kTrajectory + 1] = out[kTrajectory] * out[kTrajectory];
  if (share.tuning.has_value()) {
    out[kTuning] = static_cast<double>(NotZero(*share.tuning));
    out[kTuning + 1] = out[kTuning] * out[kTuning];
  }
  out[2] = Sum(share.valid_tokens);  // integers: exact in any order
  if (!deterministic) {
    out[0] = Sum(share.chunk_squares);
    out[1] = Sum(share.losses);
    return out;
  }
  out.resize(kHeader + static_cast<size_t>(micro_batches + chunks), 0.0);
  std::copy(share.losses.begin(), share.losses.end(),
            out.begin() + kHeader + share.first_micro_batch);
  const std::span<double> squares =
      std::span(out).subspan(kHeader + static_cast<size_t>(micro_batches));
  for (size_t i = 0; i < share.chunks.size(); ++i) {
    squares[static_cast<size_t>(share.chunks[i])] = share.chunk_squares[i];
  }
  return out;
}

// Returns the numbers that must be equal on all ranks.
std::vector<int64_t> Numbers(const v1alpha1::StepDecision& voted) {
  const uint64_t hash = Hash64(voted.SerializeAsString());
  return {voted.round(), voted.version().attempt(), static_cast<int64_t>(hash % 65536)};
}

}  // namespace

std::vector<double> EncodeVote(const VoteContribution& share, bool deterministic,
                               int64_t micro_batches, int64_t chunks) {
  std::vector<double> out = EncodeDecisive(share, deterministic, micro_batches, chunks);
  const auto rank = static_cast<size_t>(share.rank), ranks = static_cast<size_t>(share.ranks);
  if (share.device_memory.has_value()) {
    const v1alpha1::DeviceMemory& memory = *share.device_memory;
    const size_t own = out.size() + rank * kMemoryNumbers;
    out.resize(out.size() + ranks * kMemoryNumbers, 0.0);
    out[own] = static_cast<double>(memory.total());
    out[own + 1] = static_cast<double>(memory.reserved());
    out[own + 2] = static_cast<double>(memory.allocated_peak());
    out[own + 3] = static_cast<double>(memory.retries());
  }
  const size_t busy = out.size();
  out.resize(busy + ranks, 0.0);
  out[busy + rank] = share.busy_seconds;
  return out;
}

VoteTotals DecodeVote(std::span<const double> sum, bool deterministic, int64_t micro_batches,
                      int64_t chunks) {
  VoteTotals totals{.sum_of_squares = sum[0],
                    .loss_sum = sum[1],
                    .valid_tokens = sum[2],
                    .save_requests = sum[3],
                    .stop_requests = sum[4],
                    .copy_requests = sum[kCopy],
                    .saves_due = sum[kSaveDue],
                    .writing = sum[kWriting]};
  if (deterministic) {
    const auto m = static_cast<size_t>(micro_batches);
    totals.loss_sum = TreeSum(sum.subspan(kHeader, m));
    totals.sum_of_squares = TreeSum(sum.subspan(kHeader + m, static_cast<size_t>(chunks)));
  }
  return totals;
}

BusyTimes DecodeBusyTimes(std::span<const double> sum, int ranks) {
  const std::span<const double> busy = sum.last(static_cast<size_t>(ranks));
  const auto longest = std::max_element(busy.begin(), busy.end());
  return {.mean = Sum(busy) / ranks,
          .longest = *longest,
          .slowest = static_cast<int>(longest - busy.begin())};
}

v1alpha1::DeviceMemory DecodeDeviceMemory(std::span<const double> sum, int ranks) {
  const auto count = static_cast<size_t>(ranks);
  const std::span<const double> all =
      sum.last(count * (kMemoryNumbers + 1)).first(count * kMemoryNumbers);
  const auto share = [](std::span<const double> rank) { return rank[1] / std::max(rank[0], 1.0); };
  std::span<const double> fullest = all.first(kMemoryNumbers);
  double retries = 0.0;
  for (size_t rank = 0; rank < count; ++rank) {
    const std::span<const double> numbers = all.subspan(rank * kMemoryNumbers, kMemoryNumbers);
    if (share(numbers) > share(fullest)) fullest = numbers;
    retries += numbers[3];
  }
  v1alpha1::DeviceMemory memory;
  memory.set_total(static_cast<int64_t>(fullest[0]));
  memory.set_reserved(static_cast<int64_t>(fullest[1]));
  memory.set_allocated_peak(static_cast<int64_t>(fullest[2]));
  memory.set_retries(static_cast<int64_t>(retries));
  return memory;
}

absl::Status CheckVersions(std::span<const double> sum, const v1alpha1::Version& version,
                           int64_t ranks) {
  const auto count = static_cast<double>(ranks);
  const std::span<const double> step = sum.subspan(kVersion, 2),
                                attempt = sum.subspan(kVersion + 2);
  if (AllEqual(step, version.step(), count) && AllEqual(attempt, version.attempt(), count)) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(
      "ranks vote on different steps: this one on ", ToText(version), ", the others on step ",
      MeanOfOthers(step[0], version.step(), count), " (attempt ",
      MeanOfOthers(attempt[0], version.attempt(), count), ")", ranks > 2 ? " on average" : ""));
}

absl::Status CheckTrajectories(std::span<const double> sum, uint64_t trajectory, int64_t ranks) {
  if (AllEqual(sum.subspan(kTrajectory), Shortened(trajectory), static_cast<double>(ranks))) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      "ranks train by different specs: the votes on this step carry different digests, and nothing "
      "was applied");
}

bool AllKnowTuning(std::span<const double> sum, uint64_t tuning, int64_t ranks) {
  return AllEqual(sum.subspan(kTuning), NotZero(tuning), static_cast<double>(ranks));
}

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
