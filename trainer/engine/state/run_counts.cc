#include "trainer/engine/state/run_counts.h"

#include <bit>
#include <cstddef>
#include <optional>

#include "absl/status/status.h"

namespace muster::trainer {
namespace {

class Writer {
 public:
  void Add(int64_t number) { numbers_.push_back(number); }
  void Add(double number) { Add(std::bit_cast<int64_t>(number)); }
  void Add(const std::optional<double>& number) {
    Add(int64_t{number.has_value()});
    Add(number.value_or(0.0));
  }
  std::vector<int64_t> Take() {
    numbers_.front() = static_cast<int64_t>(numbers_.size());
    return std::move(numbers_);
  }

 private:
  std::vector<int64_t> numbers_ = {0};
};

class Reader {
 public:
  explicit Reader(std::span<const int64_t> numbers) : numbers_(numbers) {}
  int64_t Count() {
    if (numbers_.empty()) {
      good_ = false;
      return 0;
    }
    const int64_t number = numbers_.front();
    numbers_ = numbers_.subspan(1);
    return number;
  }
  double Number() { return std::bit_cast<double>(Count()); }
  std::optional<double> Optional() {
    const bool present = Count() != 0;
    const double number = Number();
    return present ? std::optional(number) : std::nullopt;
  }
  // Returns how many entries follow.
  size_t Entries(size_t most) {
    const int64_t count = Count();
    if (count >= 0 && count <= static_cast<int64_t>(most)) return static_cast<size_t>(count);
    good_ = false;
    return 0;
  }
  bool ends_well() const { return good_ && numbers_.empty(); }

 private:
  std::span<const int64_t> numbers_;
  bool good_ = true;
};

}  // namespace

std::vector<int64_t> ToNumbers(const RunCounts& counts) {
  Writer out;
  for (const int64_t count :
       {counts.updates, counts.samples, counts.skipped.in_row, counts.skipped.total,
        counts.loss_scale.scale, counts.loss_scale.good_steps, counts.watched.in_row,
        counts.watched.total}) {
    out.Add(count);
  }
  out.Add(counts.watched.rate_factor);
  out.Add(static_cast<int64_t>(counts.watched.losses.size()));
  for (const double loss : counts.watched.losses) out.Add(loss);
  for (const double norm : counts.watched.norms) out.Add(norm);
  out.Add(static_cast<int64_t>(counts.tunings.size()));
  for (const Tuning& tuning : counts.tunings) {
    out.Add(tuning.step);
    out.Add(tuning.learning_rate);
    out.Add(tuning.clip_norm);
  }
  return out.Take();
}

absl::StatusOr<RunCounts> CountsOf(std::span<const int64_t> numbers) {
  Reader in(numbers);
  const bool whole = in.Count() == static_cast<int64_t>(numbers.size());
  RunCounts counts;
  for (int64_t* const count :
       {&counts.updates, &counts.samples, &counts.skipped.in_row, &counts.skipped.total,
        &counts.loss_scale.scale, &counts.loss_scale.good_steps, &counts.watched.in_row,
        &counts.watched.total}) {
    *count = in.Count();
  }
  counts.watched.rate_factor = in.Number();
  const size_t watched = in.Entries(WatchedSteps::kMost);
  for (size_t i = 0; i < watched; ++i) counts.watched.losses.push_back(in.Number());
  for (size_t i = 0; i < watched; ++i) counts.watched.norms.push_back(in.Number());
  const size_t tunings = in.Entries(kMostTunings);
  for (size_t i = 0; i < tunings; ++i) {
    Tuning& tuning = counts.tunings.emplace_back();
    tuning.step = in.Count();
    tuning.learning_rate = in.Optional();
    tuning.clip_norm = in.Optional();
  }
  if (whole && in.ends_well()) return counts;
  return absl::DataLossError("the numbers of a run's counts are torn");
}

}  // namespace muster::trainer
