#include "agent/notices/notice_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace muster::agent {

NoticeWatch::NoticeWatch(Find find, absl::Duration period, const Clock& clock)
    : find_(std::move(find)),
      period_(period),
      clock_(clock),
      changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {}

NoticeWatch::~NoticeWatch() {
  {
    MutexLock lock(mu_);
    ended_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

NoticeNews NoticeWatch::Take() {
  MutexLock lock(mu_);
  uint64_t count = 0;
  while (::read(changed_.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
  }
  return news_;
}

NoticeNews NoticeWatch::Look(std::unique_ptr<NoticeSource>& source, NoticeNews news) const {
  if (source == nullptr) {
    absl::StatusOr<std::unique_ptr<NoticeSource>> found = find_();
    news.absence = std::string(found.status().message());
    if (!found.ok()) return news;
    source = *std::move(found);
    news.cloud = source->cloud();
  }
  absl::StatusOr<std::optional<Notice>> notice = source->Poll(clock_.Wall());
  news.absence = std::string(notice.status().message());
  if (notice.ok()) news.notice = *std::move(notice);
  return news;
}

void NoticeWatch::Run() {
  std::unique_ptr<NoticeSource> source;
  NoticeNews known;
  for (;;) {
    NoticeNews found = Look(source, known);
    MutexLock lock(mu_);
    if (found != known) {
      news_ = known = std::move(found);
      const uint64_t one = 1;
      while (::write(changed_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
      }
    }
    const absl::Time until = Clock::Boot().Monotonic() + (source == nullptr ? kFindAgain : period_);
    while (!ended_ && Clock::Boot().Monotonic() < until) {
      wake_.WaitFor(mu_, until - Clock::Boot().Monotonic());
    }
    if (ended_) return;
  }
}

}  // namespace muster::agent
