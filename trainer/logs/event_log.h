#ifndef MUSTER_TRAINER_LOGS_EVENT_LOG_H_
#define MUSTER_TRAINER_LOGS_EVENT_LOG_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::trainer {

// Writes the curves of a run as event files of TensorBoard, into a folder with the job's name.
// Every step is given to the operating system at once, so that a process that is killed loses none;
// its file may end within a record, which readers pass over. Steps that are trained again appear
// once: a record tells readers from which step the run goes on.
//
// Training never fails for it. Steps that cannot be written wait for another try, in a new file,
// kMostWaiting of them; older ones are lost, and counted. Not thread-safe. Files must be able to
// append, as those of an object store cannot.
class EventLog {
 public:
  static constexpr int kMostWaiting = 1000;
  static constexpr absl::Duration kBetweenTries = absl::Seconds(10);

  // `writer` is a part of the files' names: the host and the process.
  EventLog(Files& files, const Clock& clock, std::string job, std::string writer);

  // Call when the run goes on after `step`. This rank writes in `directory` from now on; if that is
  // empty, it writes nothing.
  void BeginRound(const std::string& directory, int64_t step);
  // Call on every rank when a step is applied. A rank that does not write remembers the newest one,
  // in case that it takes over from the rank that does.
  void Add(const v1alpha1::StepReport& report);

  int64_t lost_steps() const { return lost_; }

 private:
  struct Waiting {
    int64_t step;
    std::string record;
    bool restart = false;  // it tells readers to forget, and is no step
  };

  void Wait(Waiting record);
  void Write();
  absl::Status TryToWrite();
  absl::Status Open();
  absl::Status GiveUpFile(absl::Status why);

  Files& files_;
  const Clock& clock_;
  const std::string job_, writer_;
  std::string folder_;  // empty: nothing is written
  std::string path_;    // of the open file
  std::unique_ptr<WritableFile> file_;
  bool has_steps_ = false;  // a write to the open file has succeeded
  int opened_ = 0;          // files
  std::deque<Waiting> waiting_;
  std::optional<Waiting> last_;
  absl::Time try_at_ = absl::InfinitePast();
  bool failing_ = false;
  int64_t lost_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_LOGS_EVENT_LOG_H_
