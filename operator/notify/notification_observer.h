#ifndef MUSTER_OPERATOR_NOTIFY_NOTIFICATION_OBSERVER_H_
#define MUSTER_OPERATOR_NOTIFY_NOTIFICATION_OBSERVER_H_

#include <string>

namespace muster::control {

// Learns how requests to receivers end. It gets the names of receivers alone, never a URL, which
// may hold a secret. Called by the threads of all receivers at once.
class NotificationObserver {
 public:
  virtual ~NotificationObserver() = default;
  // Reports a receiver before the first request to it.
  virtual void ReceiverAdded(const std::string& receiver) = 0;
  // Reports the end of one request; `taken` is true if the receiver answered that it took it.
  virtual void Notified(const std::string& receiver, bool taken) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_NOTIFICATION_OBSERVER_H_
