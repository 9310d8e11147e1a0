#ifndef MUSTER_OPERATOR_CORE_STATE_LEDGER_BOOK_H_
#define MUSTER_OPERATOR_CORE_STATE_LEDGER_BOOK_H_

#include <array>
#include <optional>

#include "absl/strings/string_view.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The arithmetic of a job's ledger, status.ledger: seconds of one rank by what they went into.
// Pure.
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

// The parts, each 0 to 1, of the unreported time before some filing: what was filed under any other
// use, and what of it all went into rework or recovering.
struct ReportedTime {
  double filed = 0;
  double lost = 0;
};
ReportedTime Reported(const v1alpha1::LedgerStatus& before, const v1alpha1::LedgerStatus& after);

// Files all that is unreported under one use.
void FileUnreported(v1alpha1::LedgerStatus& ledger, TimeUse use);
// The times of some steps, in seconds: by phase on rank 0, and the sums of StepReport's means and
// longest times in which the ranks were busy. The latter are 0 if they are not known.
struct StepTimes {
  v1alpha1::PhaseTimes phases;
  double mean_busy = 0;
  double longest_busy = 0;
};
StepTimes operator-(const StepTimes& now, const StepTimes& before);

// Files what is unreported by the times of the steps that were reported for it, of which the part
// `redone`, 0 to 1, is rework, whatever it went into. The time of the steps is that of each of
// `ranks`. In the mean over the ranks, the wait for the slowest is the difference of the two busy
// times, and all that rank 0 waited longer or shorter than the mean is not. Validation counts as
// productive. Times of loading and connecting are left out, because no running round has such.
// Time that the steps do not account for stays unreported.
void FileSteps(v1alpha1::LedgerStatus& ledger, const StepTimes& times, int ranks, double redone);

// The shares of time that count, each 0 to 1.
struct Goodput {
  // The time with nodes, in the time in which the job was to run, that is, in all that is not idle.
  double scheduling = 0;
  // The time in which new steps were done, waits for communication, stragglers and data included,
  // in the time with nodes.
  double runtime = 0;
  // Their product, the effective training time ratio of Kokolis et al., 2024, "Revisiting
  // Reliability in Large-Scale Machine Learning Research Clusters". The other two are parts of
  // Google's ML productivity goodput.
  double ettr = 0;
};

// Returns nothing while the job has not been meant to run. What is unreported is left out.
std::optional<Goodput> GoodputOf(const v1alpha1::LedgerStatus& ledger);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_LEDGER_BOOK_H_
