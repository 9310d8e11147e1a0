#include "operator/core/leave/link_verdict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "operator/core/state/shared_levels.h"

namespace muster::control {
namespace {

constexpr int kLeastSlowLinks = 2;

using Level = size_t;

// A link, seen from one of its ends.
struct Seen {
  size_t peer = 0;
  Level level = 0;
  double speed = 0;
};

// Workers on one node are nearer to each other than any that share a domain.
Level LevelOf(const TestedWorker& a, const TestedWorker& b) {
  if (!a.node.empty() && a.node == b.node) return std::min(a.domains.size(), b.domains.size()) + 1;
  return SharedLevels(a.domains, b.domains);
}

// The upper median, so that a slow half does not hide itself.
double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Judge {
 public:
  Judge(const std::vector<TestedWorker>& workers, const std::vector<TestedLink>& links)
      : count_(workers.size()), seen_(workers.size()) {
    for (const TestedLink& link : links) {
      if (link.from >= count_ || link.to >= count_ || link.from == link.to) continue;
      const double speed = link.bytes_per_second > 0 ? link.bytes_per_second : 0;
      const Level level = LevelOf(workers[link.from], workers[link.to]);
      links_.push_back({{link.from, link.to, speed}, level});
      seen_[link.from].push_back({link.to, level, speed});
      seen_[link.to].push_back({link.from, level, speed});
    }
  }

  LinkVerdict Decide() {
    LinkVerdict verdict;
    for (size_t place = 0; place < count_; ++place) Compare(place, verdict);
    std::sort(verdict.workers.begin(), verdict.workers.end(),
              [](const SlowWorker& a, const SlowWorker& b) {
                return std::pair(a.measured / a.expected, a.place) <
                       std::pair(b.measured / b.expected, b.place);
              });
    for (const auto& [ends, expected] : slow_) FindLink(ends, expected, verdict);
    return verdict;
  }

 private:
  // Returns the median speed, by level, of the links that do not concern the worker.
  std::map<Level, double> SpeedsWithout(size_t place) const {
    std::map<Level, std::vector<double>> speeds;
    for (const auto& [link, level] : links_) {
      if (link.from != place && link.to != place) speeds[level].push_back(link.bytes_per_second);
    }
    std::map<Level, double> medians;
    for (auto& [level, values] : speeds) medians[level] = Median(std::move(values));
    return medians;
  }

  void Compare(size_t place, LinkVerdict& verdict) {
    const std::map<Level, double> others = SpeedsWithout(place);
    SlowWorker worker{.place = place};
    std::vector<double> measured, expected;
    for (const Seen& link : seen_[place]) {
      const auto like = others.find(link.level);
      if (like == others.end()) continue;
      ++worker.judged;
      if (!(link.speed < like->second * kSlowLinkPart)) continue;
      ++worker.slow;
      measured.push_back(link.speed);
      expected.push_back(like->second);
      slow_[{place, link.peer}] = like->second;
    }
    if (worker.slow < kLeastSlowLinks || 2 * worker.slow <= worker.judged) return;
    worker.measured = Median(std::move(measured));
    worker.expected = Median(std::move(expected));
    verdict.workers.push_back(worker);
  }

  // Reports a link once, and only if it is slow as seen from both ends and neither of its workers
  // is slow as a whole.
  void FindLink(const std::pair<size_t, size_t>& ends, double expected,
                LinkVerdict& verdict) const {
    const auto& [from, to] = ends;
    if (from > to || slow_.count({to, from}) == 0) return;
    for (const SlowWorker& worker : verdict.workers) {
      if (worker.place == from || worker.place == to) return;
    }
    const auto link = std::find_if(seen_[from].begin(), seen_[from].end(),
                                   [to = to](const Seen& seen) { return seen.peer == to; });
    verdict.links.push_back({from, to, link->speed, expected});
  }

  const size_t count_;
  std::vector<std::pair<TestedLink, Level>> links_;
  std::vector<std::vector<Seen>> seen_;               // by worker
  std::map<std::pair<size_t, size_t>, double> slow_;  // slow as seen from the first: its like
};

}  // namespace

LinkVerdict JudgeLinks(const std::vector<TestedWorker>& workers,
                       const std::vector<TestedLink>& links) {
  return Judge(workers, links).Decide();
}

}  // namespace muster::control
