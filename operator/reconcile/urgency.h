#ifndef MUSTER_OPERATOR_RECONCILE_URGENCY_H_
#define MUSTER_OPERATOR_RECONCILE_URGENCY_H_

#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace muster::control {

// Lets writes that others wait for go first: while some are under way, all other writes are held,
// but never for longer than kPatience at a stretch. Thread-safe.
class Urgency {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(5);

  // Calls `on_change(held)` whenever `held` changes, in order; it must not call back.
  Urgency(const Clock& clock, std::function<void(bool held)> on_change)
      : clock_(clock), on_change_(std::move(on_change)) {}

  // Marks an urgent write for its lifetime. A null Urgency has no effect.
  class Scope {
   public:
    explicit Scope(Urgency* urgency) : urgency_(urgency) {
      if (urgency_ != nullptr) urgency_->Add(1);
    }
    ~Scope() {
      if (urgency_ != nullptr) urgency_->Add(-1);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Urgency* const urgency_;
  };

  bool held() const;

 private:
  void Add(int change);

  const Clock& clock_;
  const std::function<void(bool held)> on_change_;
  mutable Mutex mu_;
  int urgent_ MUSTER_GUARDED_BY(mu_) = 0;
  absl::Time since_ MUSTER_GUARDED_BY(mu_);  // when urgent_ left 0
  bool held_ MUSTER_GUARDED_BY(mu_) = false;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_URGENCY_H_
