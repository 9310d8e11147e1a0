#include "trainer/logs/event_log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "trainer/logs/step_events.h"

namespace muster::trainer {
namespace {

// TensorBoard finds event files by this part of their names.
constexpr char kPrefix[] = "events.out.tfevents.";

// Returns the time that the name of an event file begins with, in seconds since the epoch; 0 for
// other files.
int64_t SecondsOf(absl::string_view name) {
  int64_t seconds = 0;
  if (!absl::ConsumePrefix(&name, kPrefix)) return 0;
  return absl::SimpleAtoi(name.substr(0, name.find('.')), &seconds) ? seconds : 0;
}

}  // namespace

EventLog::EventLog(Files& files, const Clock& clock, std::string job, std::string writer)
    : files_(files), clock_(clock), job_(std::move(job)), writer_(std::move(writer)) {}

void EventLog::BeginRound(const std::string& directory, int64_t step) {
  const std::string folder = directory.empty() ? "" : JoinPath(directory, job_);
  const bool takes_over = folder != folder_;
  if (takes_over) {
    file_.reset();
    waiting_.clear();
    folder_ = folder;
    try_at_ = absl::InfinitePast();
    failing_ = false;
  }
  if (folder_.empty()) return;
  std::erase_if(waiting_, [&](const Waiting& one) { return one.step > step; });
  // The rank that wrote before this one was perhaps lost when it had not written the last step.
  if (takes_over && last_ && last_->step == step) waiting_.push_back(*last_);
  // A new file begins with such a record anyway.
  if (file_ != nullptr) {
    Wait({step + 1, RestartRecord(step + 1, clock_.Wall()), /*restart=*/true});
  }
  if (!waiting_.empty()) Write();
}

void EventLog::Add(const v1alpha1::StepReport& report) {
  last_ = {report.version().step(), StepRecord(report)};
  if (folder_.empty()) return;
  Wait(*last_);
  Write();
}

void EventLog::Wait(Waiting record) {
  waiting_.push_back(std::move(record));
  if (waiting_.size() <= kMostWaiting) return;
  if (!waiting_.front().restart) ++lost_;
  waiting_.pop_front();
}

void EventLog::Write() {
  if (file_ == nullptr && clock_.Monotonic() < try_at_) return;
  const absl::Status status = TryToWrite();
  if (status.ok()) {
    if (failing_) {
      MUSTER_LOG(INFO, "event files of TensorBoard are written again", {"lost_steps", lost_});
    }
    failing_ = false;
    return;
  }
  try_at_ = clock_.Monotonic() + kBetweenTries;
  if (failing_) return;
  failing_ = true;
  MUSTER_LOG(WARN, "event files of TensorBoard cannot be written; training goes on without them",
             {"folder", folder_}, {"error", status});
}

absl::Status EventLog::TryToWrite() {
  if (file_ == nullptr) MUSTER_RETURN_IF_ERROR(Open());
  std::string records;
  for (const Waiting& one : waiting_) records += one.record;
  if (absl::Status status = file_->Append(records); !status.ok()) return GiveUpFile(status);
  has_steps_ = true;
  waiting_.clear();
  return absl::OkStatus();
}

// Readers take a folder's files by name, so a new one must come after all that are there, whatever
// the clocks of the hosts that wrote them.
absl::Status EventLog::Open() {
  MUSTER_RETURN_IF_ERROR(files_.MakeDirectories(folder_));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.List(folder_));
  const absl::Time now = clock_.Wall();
  int64_t seconds = absl::ToUnixSeconds(now);
  for (const DirectoryEntry& entry : entries) {
    seconds = std::max(seconds, SecondsOf(entry.name) + 1);
  }
  path_ = JoinPath(folder_, absl::StrCat(kPrefix, seconds, ".", writer_, ".", opened_++));
  has_steps_ = false;
  // A file that is appended to is never written around the system's cache.
  MUSTER_ASSIGN_OR_RETURN(file_, files_.Create(path_, CreateMode::kAppend));
  const std::string begin = FileVersionRecord(now) + RestartRecord(waiting_.front().step, now);
  const absl::Status status = file_->Append(begin);
  return status.ok() ? status : GiveUpFile(status);
}

// A file whose last record is cut off is readable up to there only. If it has no steps, it is
// removed, so that a disk that stays full does not fill with files.
absl::Status EventLog::GiveUpFile(absl::Status why) {
  file_.reset();
  if (!has_steps_) (void)files_.Remove(path_);
  return why;
}

}  // namespace muster::trainer
