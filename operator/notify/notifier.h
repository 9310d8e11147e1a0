#ifndef MUSTER_OPERATOR_NOTIFY_NOTIFIER_H_
#define MUSTER_OPERATOR_NOTIFY_NOTIFIER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "operator/notify/alert_book.h"
#include "operator/notify/http_sender.h"
#include "operator/notify/job_alert.h"
#include "operator/notify/notification_observer.h"
#include "operator/notify/receivers.h"

namespace muster::control {

// Tells receivers about the alerts of jobs. Set never waits for a receiver, and each receiver has a
// thread of its own, so that none waits for another:
//
//   Notifier notifier(receivers, sender, clock);
//   std::thread one([&] { while (notifier.WaitAndRun(0)) {} });
//   ...
//   notifier.Shutdown();
//   one.join();
//
// Nothing is durable: a new leader tells again what fires, and an end that the old leader had not
// told yet is told to an Alertmanager by the time limit of each alert, and to a webhook not at all.
// Thread-safe.
class Notifier {
 public:
  // The period in which an Alertmanager is told again what fires, and the time for which that
  // holds; both as Prometheus does it.
  static constexpr absl::Duration kRepeat = absl::Minutes(1);
  static constexpr absl::Duration kValid = absl::Minutes(4);

  // `sender` and `clock` must outlive it.
  Notifier(const std::vector<Receiver>& receivers, AlertSender& sender, const Clock& clock);

  // Reports requests to `observer`, which must outlive them. Call it before any other method.
  void Observe(NotificationObserver& observer);

  // The alerts of one job that fire, by the receiver that its rule names. Those of receivers that
  // do not exist are left out.
  using ByReceiver = std::map<std::string, std::vector<JobAlert>>;
  void Set(const AlertedJob& job, const ByReceiver& firing);

  size_t receivers() const { return lines_.size(); }
  // Waits until the receiver with this index is to be told something, and tells it one job's
  // alerts. Returns false after Shutdown.
  bool WaitAndRun(size_t receiver);
  // Tells the receiver what is due now, without waiting; returns false if that was nothing.
  bool RunOnce(size_t receiver);
  void Shutdown();

 private:
  // One receiver and the alerts for it.
  struct Line {
    explicit Line(Receiver receiver_in);
    const Receiver receiver;
    Mutex mu;
    CondVar changed;
    bool stopped MUSTER_GUARDED_BY(mu) = false;
    AlertBook book MUSTER_GUARDED_BY(mu);
  };

  std::string Body(const Receiver& receiver, const AlertBook::Batch& batch) const;

  AlertSender& sender_;
  const Clock& clock_;
  NotificationObserver* observer_ = nullptr;
  std::vector<std::unique_ptr<Line>> lines_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_NOTIFIER_H_
