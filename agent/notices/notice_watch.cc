#include "agent/notices/notice_watch.h"

#include <utility>

namespace muster::agent {

NoticeWatch::NoticeWatch(Find find, absl::Duration period, const Clock& clock)
    : find_(std::move(find)), period_(period), clock_(clock), thread_([this] { Run(); }) {}

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
  changed_.Clear();
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
      changed_.Wake();
    }
    const absl::Time until = Clock::Boot().Monotonic() + (source == nullptr ? kFindAgain : period_);
    while (!ended_ && Clock::Boot().Monotonic() < until) {
      wake_.WaitFor(mu_, until - Clock::Boot().Monotonic());
    }
    if (ended_) return;
  }
}

}  // namespace muster::agent
