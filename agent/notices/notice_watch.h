#ifndef MUSTER_AGENT_NOTICES_NOTICE_WATCH_H_
#define MUSTER_AGENT_NOTICES_NOTICE_WATCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/notices/notice.h"
#include "agent/notices/notice_source.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/net/wake_fd.h"

namespace muster::agent {

// The knowledge of notices at one time. A value.
struct NoticeNews {
  std::string cloud;             // empty: no cloud's service was found
  std::optional<Notice> notice;  // the last one that the service told
  std::string absence;  // why nothing is known now, in words; empty if the last poll was OK

  friend bool operator==(const NoticeNews&, const NoticeNews&) = default;
};

// Polls a source on a thread of its own, because a service that is slow must not keep the agent
// from its other work. A poll that fails keeps the last notice: silence takes nothing back.
// Thread-safe.
class NoticeWatch {
 public:
  using Find = std::function<absl::StatusOr<std::unique_ptr<NoticeSource>>()>;
  // The delay before a source is looked for again.
  static constexpr absl::Duration kFindAgain = absl::Minutes(10);

  // `find` is called on the thread until it returns a source, which is then polled each `period`.
  // `clock` must outlive it; it gives the wall times.
  NoticeWatch(Find find, absl::Duration period, const Clock& clock);
  // Waits for the request that is under way.
  ~NoticeWatch();

  // A descriptor that is readable while Take() has something new.
  int fd() const { return changed_.get(); }
  NoticeNews Take();

 private:
  void Run();
  NoticeNews Look(std::unique_ptr<NoticeSource>& source, NoticeNews news) const;

  const Find find_;
  const absl::Duration period_;
  const Clock& clock_;
  const WakeFd changed_;
  Mutex mu_;
  CondVar wake_;
  bool ended_ MUSTER_GUARDED_BY(mu_) = false;
  NoticeNews news_ MUSTER_GUARDED_BY(mu_);
  std::thread thread_;  // last, so that it begins when all else is there
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_NOTICE_WATCH_H_
