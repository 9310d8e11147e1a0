#ifndef MUSTER_OPERATOR_CORE_STATE_LEDGER_BOOK_H_
#define MUSTER_OPERATOR_CORE_STATE_LEDGER_BOOK_H_

#include <array>
#include <optional>

#include "absl/strings/string_view.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The arithmetic of a job's ledger, status.ledger, which counts rank-seconds by use. Pure.
namespace muster::control {

// The uses of time, each explained at its field of LedgerStatus.
enum class TimeUse {
  kQueued,
  kPlacing,
  kStarting,
  kInitialising,
  kProductive,
  kCommunication,
  kStragglerWait,
  kDataStall,
  kCheckpointStall,
  kRework,
  kRecovering,
  kIdle,
  kUnreported,
};
inline constexpr int kTimeUses = 13;
std::array<TimeUse, kTimeUses> AllTimeUses();

// Returns the name of the use's field in the API, e.g. dataStall.
absl::string_view Name(TimeUse use);

double SecondsOf(const v1alpha1::LedgerStatus& ledger, TimeUse use);
void Charge(v1alpha1::LedgerStatus& ledger, TimeUse use, double seconds);
// Returns the seconds of all uses.
double TotalSeconds(const v1alpha1::LedgerStatus& ledger);

// The fractions, each 0 to 1, of the unreported time before a filing that it moved to any other use
// (`filed`), and to rework or recovering (`lost`).
struct ReportedTime {
  double filed = 0;
  double lost = 0;
};
ReportedTime Reported(const v1alpha1::LedgerStatus& before, const v1alpha1::LedgerStatus& after);

// Files all that is unreported under one use.
void FileUnreported(v1alpha1::LedgerStatus& ledger, TimeUse use);
// The times of some steps, in seconds: the phases of rank 0, and the sums of the mean and of the
// longest busy times of the ranks, as in StepReport. The busy times are 0 if they are not known.
struct StepTimes {
  v1alpha1::PhaseTimes phases;
  double mean_busy = 0;
  double longest_busy = 0;
};
StepTimes operator-(const StepTimes& now, const StepTimes& before);

// Files the unreported time by the times of the steps that were reported for it; each step takes
// all `ranks` ranks the same time. The fraction `redone` (0 to 1) of the filed time is rework,
// whatever it was spent on. Rank 0's compute and communication times are corrected to the mean busy
// time of the ranks; the wait for stragglers is the longest busy time minus the mean. Validation
// counts as productive. Times of loading and connecting are left out, because a running round has
// none. Time that the steps do not account for stays unreported.
void FileSteps(v1alpha1::LedgerStatus& ledger, const StepTimes& times, int ranks, double redone);

// The fractions of useful time, each 0 to 1.
struct Goodput {
  // The time with nodes, divided by the time in which the job was meant to run (all but idle time).
  double scheduling = 0;
  // The time in which new steps were done, including waits for communication, stragglers and data,
  // divided by the time with nodes.
  double runtime = 0;
  // Their product, the effective training time ratio of Kokolis et al., 2024, "Revisiting
  // Reliability in Large-Scale Machine Learning Research Clusters". The other two are parts of
  // Google's ML productivity goodput.
  double ettr = 0;
};

// Returns nullopt while the job has not been meant to run. Unreported time is left out.
std::optional<Goodput> GoodputOf(const v1alpha1::LedgerStatus& ledger);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_LEDGER_BOOK_H_
