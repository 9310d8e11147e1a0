#include "operator/core/state/ledger_book.h"
#include "proto/muster/v1alpha1/phase_times.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace muster::control {
namespace {

using v1alpha1::LedgerStatus;

struct Field {
  absl::string_view name;
  double (LedgerStatus::*get)() const;
  void (LedgerStatus::*set)(double);
};

// By TimeUse.
constexpr Field kFields[kTimeUses] = {
    {"queued", &LedgerStatus::queued, &LedgerStatus::set_queued},
    {"placing", &LedgerStatus::placing, &LedgerStatus::set_placing},
    {"starting", &LedgerStatus::starting, &LedgerStatus::set_starting},
    {"initialising", &LedgerStatus::initialising, &LedgerStatus::set_initialising},
    {"productive", &LedgerStatus::productive, &LedgerStatus::set_productive},
    {"communication", &LedgerStatus::communication, &LedgerStatus::set_communication},
    {"stragglerWait", &LedgerStatus::straggler_wait, &LedgerStatus::set_straggler_wait},
    {"dataStall", &LedgerStatus::data_stall, &LedgerStatus::set_data_stall},
    {"checkpointStall", &LedgerStatus::checkpoint_stall, &LedgerStatus::set_checkpoint_stall},
    {"rework", &LedgerStatus::rework, &LedgerStatus::set_rework},
    {"recovering", &LedgerStatus::recovering, &LedgerStatus::set_recovering},
    {"idle", &LedgerStatus::idle, &LedgerStatus::set_idle},
    {"unreported", &LedgerStatus::unreported, &LedgerStatus::set_unreported},
};

const Field& FieldOf(TimeUse use) { return kFields[static_cast<size_t>(use)]; }

}  // namespace

std::array<TimeUse, kTimeUses> AllTimeUses() {
  std::array<TimeUse, kTimeUses> all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<TimeUse>(i);
  return all;
}

absl::string_view Name(TimeUse use) { return FieldOf(use).name; }

double SecondsOf(const LedgerStatus& ledger, TimeUse use) { return (ledger.*FieldOf(use).get)(); }

void Charge(LedgerStatus& ledger, TimeUse use, double seconds) {
  if (seconds > 0) (ledger.*FieldOf(use).set)(SecondsOf(ledger, use) + seconds);
}

double TotalSeconds(const LedgerStatus& ledger) {
  double total = 0;
  for (const TimeUse use : AllTimeUses()) total += SecondsOf(ledger, use);
  return total;
}

ReportedTime Reported(const LedgerStatus& before, const LedgerStatus& after) {
  if (!(before.unreported() > 0)) return {.filed = 1, .lost = 0};
  const double lost = after.rework() - before.rework() + after.recovering() - before.recovering();
  const double filed = 1 - after.unreported() / before.unreported();
  return {.filed = std::clamp(filed, 0.0, 1.0),
          .lost = std::clamp(lost / before.unreported(), 0.0, 1.0)};
}

void FileUnreported(LedgerStatus& ledger, TimeUse use) {
  const double seconds = ledger.unreported();
  ledger.clear_unreported();
  Charge(ledger, use, seconds);
}

StepTimes operator-(const StepTimes& now, const StepTimes& before) {
  return {.phases = Difference(now.phases, before.phases),
          .mean_busy = now.mean_busy - before.mean_busy,
          .longest_busy = now.longest_busy - before.longest_busy};
}

void FileSteps(LedgerStatus& ledger, const StepTimes& times, int ranks, double redone) {
  const v1alpha1::PhaseTimes& phases = times.phases;
  // Rank 0 waits for others, and computes, for longer or shorter than the mean of the ranks.
  const bool known = times.mean_busy > 0;
  const double ahead = known ? times.mean_busy - phases.compute() - phases.data() : 0;
  const double shift = std::clamp(ahead, -phases.compute(), phases.communication());
  const double waiting = phases.communication() - shift;
  const double straggling =
      known ? std::clamp(times.longest_busy - times.mean_busy, 0.0, std::max(0.0, waiting)) : 0;
  const std::pair<TimeUse, double> parts[] = {
      {TimeUse::kProductive, phases.compute() + shift + phases.other()},
      {TimeUse::kCommunication, waiting - straggling},
      {TimeUse::kStragglerWait, straggling},
      {TimeUse::kDataStall, phases.data()},
      {TimeUse::kCheckpointStall, phases.checkpoint()},
  };
  double sum = 0;
  for (const auto& [use, seconds] : parts) sum += std::max(0.0, seconds);
  if (!(sum > 0)) return;
  const double filed = std::min(ledger.unreported(), sum * ranks);
  const double lost = filed * std::clamp(redone, 0.0, 1.0);
  ledger.set_unreported(ledger.unreported() - filed);
  Charge(ledger, TimeUse::kRework, lost);
  for (const auto& [use, seconds] : parts) {
    Charge(ledger, use, (filed - lost) * std::max(0.0, seconds) / sum);
  }
}

std::optional<Goodput> GoodputOf(const LedgerStatus& ledger) {
  const double available = TotalSeconds(ledger) - ledger.idle() - ledger.unreported();
  if (!(available > 0)) return std::nullopt;
  const double scheduled = available - ledger.queued() - ledger.placing();
  const double trained =
      ledger.productive() + ledger.communication() + ledger.straggler_wait() + ledger.data_stall();
  return Goodput{.scheduling = scheduled / available,
                 .runtime = scheduled > 0 ? trained / scheduled : 0,
                 .ettr = trained / available};
}

}  // namespace muster::control
