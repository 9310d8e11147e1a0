#ifndef MUSTER_OPERATOR_CORE_LEAVE_LINK_VERDICT_H_
#define MUSTER_OPERATOR_CORE_LEAVE_LINK_VERDICT_H_

#include <cstddef>
#include <string>
#include <vector>

// Policy: which workers, or which single links, are slow, by the measured speeds of links between
// workers. Pure.
namespace muster::control {

struct TestedWorker {
  int index = 0;
  std::string node;
  // The network domains of its node, from broad to narrow; empty if they are not known.
  std::vector<std::string> domains;
};

// A link between the workers at two places of a list.
struct TestedLink {
  size_t from = 0;
  size_t to = 0;
  double bytes_per_second = 0;
};

// A worker most of whose links are slow.
struct SlowWorker {
  size_t place = 0;
  int slow = 0;    // its slow links
  int judged = 0;  // and all that could be compared
  // Bytes per second: the median of its slow links, and of those that they were compared with.
  double measured = 0;
  double expected = 0;
};

// A slow link whose workers are not slow.
struct SlowLink {
  size_t from = 0;
  size_t to = 0;
  double measured = 0;
  double expected = 0;
};

struct LinkVerdict {
  std::vector<SlowWorker> workers;  // the slowest in proportion first
  std::vector<SlowLink> links;
};

// A link is slow if it has less than this part of the speed of its like.
inline constexpr double kSlowLinkPart = 1.0 / 3;

// Compares each link of a worker with the median of those links between other workers whose ends
// are as near to each other: on one node, or in the same narrowest common domain's level. A worker
// is slow if more than half of its links that can be compared are, and at least two. A speed that
// is no positive number counts as 0.
LinkVerdict JudgeLinks(const std::vector<TestedWorker>& workers,
                       const std::vector<TestedLink>& links);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_LEAVE_LINK_VERDICT_H_
