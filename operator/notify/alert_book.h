#ifndef MUSTER_OPERATOR_NOTIFY_ALERT_BOOK_H_
#define MUSTER_OPERATOR_NOTIFY_ALERT_BOOK_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "base/backoff.h"
#include "operator/notify/job_alert.h"

namespace muster::control {

// The alerts of one receiver, and which of them are due to be sent. The begin and the end of each
// alert are sent once, in this order; an alert that keeps firing is sent again every `repeat`.
// While the receiver fails, sending backs off; an end that could not be sent for kForget is
// dropped. Has no clock: times are arguments. Not thread-safe.
class AlertBook {
 public:
  static constexpr absl::Duration kForget = absl::Hours(1);
  // The most alerts in the book. In a full book every namespace has an equal share: a new alert of
  // a namespace with fewer alerts replaces one of the namespace with the most, and other new alerts
  // are dropped until some have ended.
  static constexpr size_t kMaxAlerts = 10'000;
  static constexpr BackoffBounds kBackoff = {absl::Seconds(1), absl::Minutes(5)};

  explicit AlertBook(absl::Duration repeat = absl::InfiniteDuration()) : repeat_(repeat) {}

  // The alerts of one job, in one request.
  struct Batch {
    AlertedJob job;
    std::vector<AlertNews> news;
  };

  // Replaces the job's firing alerts; those of its alerts that are missing from `firing` ended at
  // `wall`. Returns false if some were dropped because the book is full.
  bool Set(const AlertedJob& job, const std::vector<JobAlert>& firing, absl::Time wall);
  // Returns the alerts of one job that are due at `now` (Monotonic), if any. Jobs take turns.
  std::optional<Batch> Due(absl::Time now) const;
  // Returns the earliest time at which Due may return something; InfiniteFuture: not before Set.
  absl::Time NextDue() const;
  // Records whether a batch reached the receiver.
  void Told(const Batch& batch, bool reached, absl::Time now);

  size_t size() const { return alerts_.size(); }

 private:
  struct Entry {
    AlertedJob job;
    AlertNews news;
    bool told_begin = false;
    absl::Time due = absl::InfinitePast();  // monotonic
    absl::Time failing_since = absl::InfiniteFuture();
  };
  // The job's UID, the rule's name and the time of the begin.
  using Key = std::tuple<std::string, std::string, absl::Time>;
  using Alerts = std::map<Key, Entry>;
  static Key KeyOf(const AlertedJob& job, const JobAlert& alert) {
    return {job.uid, alert.name, alert.since};
  }
  // Makes room in a full book for an alert of the namespace; false if it has its share.
  bool MakeRoom(const std::string& ns);
  void Erase(Alerts::iterator alert);

  const absl::Duration repeat_;
  Alerts alerts_;
  std::map<std::string, size_t> by_namespace_;  // the numbers of alerts
  std::string told_last_;                       // the UID of the job
  int failures_ = 0;                            // in a row
  absl::Time not_before_ = absl::InfinitePast();
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_ALERT_BOOK_H_
