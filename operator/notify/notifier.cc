#include "operator/notify/notifier.h"

#include <optional>
#include <utility>

#include "base/json.h"
#include "base/logging.h"
#include "operator/notify/message.h"

namespace muster::control {
namespace {

absl::Duration RepeatOf(const Receiver& receiver) {
  return receiver.kind == Receiver::Kind::kAlertmanager ? Notifier::kRepeat
                                                        : absl::InfiniteDuration();
}

}  // namespace

Notifier::Line::Line(Receiver receiver_in)
    : receiver(std::move(receiver_in)), book(RepeatOf(receiver)) {}

Notifier::Notifier(const std::vector<Receiver>& receivers, AlertSender& sender, const Clock& clock)
    : sender_(sender), clock_(clock) {
  for (const Receiver& receiver : receivers) lines_.push_back(std::make_unique<Line>(receiver));
}

void Notifier::Observe(NotificationObserver& observer) {
  observer_ = &observer;
  for (const std::unique_ptr<Line>& line : lines_) observer.ReceiverAdded(line->receiver.name);
}

void Notifier::Set(const AlertedJob& job, const ByReceiver& firing) {
  for (const std::unique_ptr<Line>& line : lines_) {
    const auto found = firing.find(line->receiver.name);
    MutexLock lock(line->mu);
    const bool complete = line->book.Set(
        job, found == firing.end() ? std::vector<JobAlert>() : found->second, clock_.Wall());
    line->changed.NotifyAll();
    if (complete) continue;
    MUSTER_LOG_LIMITED(WARN, line->receiver.name, "alerts dropped, because too many fire",
                       {"receiver", line->receiver.name});
  }
}

std::string Notifier::Body(const Receiver& receiver, const AlertBook::Batch& batch) const {
  switch (receiver.kind) {
    case Receiver::Kind::kWebhook:
      return DumpJson(WebhookMessage(receiver.name, batch.job, batch.news));
    case Receiver::Kind::kAlertmanager:
      return DumpJson(
          AlertmanagerMessage(receiver.name, batch.job, batch.news, clock_.Wall() + kValid));
  }
  return "";
}

bool Notifier::RunOnce(size_t receiver) {
  Line& line = *lines_[receiver];
  std::optional<AlertBook::Batch> batch;
  {
    MutexLock lock(line.mu);
    batch = line.book.Due(clock_.Monotonic());
  }
  if (!batch) return false;
  const absl::Status sent = sender_.Post(line.receiver, Body(line.receiver, *batch));
  if (!sent.ok()) {
    MUSTER_LOG_LIMITED(WARN, line.receiver.name, "alert not sent, and is tried again later",
                       {"receiver", line.receiver.name}, {"error", sent});
  }
  if (observer_ != nullptr) observer_->Notified(line.receiver.name, sent.ok());
  MutexLock lock(line.mu);
  line.book.Told(*batch, sent.ok(), clock_.Monotonic());
  return true;
}

bool Notifier::WaitAndRun(size_t receiver) {
  Line& line = *lines_[receiver];
  {
    MutexLock lock(line.mu);
    while (!line.stopped && line.book.NextDue() > clock_.Monotonic()) {
      const absl::Time due = line.book.NextDue();
      if (due == absl::InfiniteFuture()) {
        line.changed.Wait(line.mu);
      } else {
        line.changed.WaitFor(line.mu, due - clock_.Monotonic());
      }
    }
    if (line.stopped) return false;
  }
  RunOnce(receiver);
  return true;
}

void Notifier::Shutdown() {
  for (const std::unique_ptr<Line>& line : lines_) {
    MutexLock lock(line->mu);
    line->stopped = true;
    line->changed.NotifyAll();
  }
}

}  // namespace muster::control
