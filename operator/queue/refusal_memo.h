#ifndef MUSTER_OPERATOR_QUEUE_REFUSAL_MEMO_H_
#define MUSTER_OPERATOR_QUEUE_REFUSAL_MEMO_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"

namespace muster::control {

// Remembers what Place refused: while nothing is freed it refuses the same again. Larger gangs of
// that shape have no place either, but their own reason and numbers, so each size is a question of
// its own. The owner clears the memo when something may have become free, or the tree was rebuilt.
class RefusalMemo {
 public:
  using Nodes = std::shared_ptr<const GangNodes>;

  // Returns null if nothing is known.
  const Unplaceable* Find(const GangRequest& request, const Nodes& nodes) const;
  void Add(const GangRequest& request, const Nodes& nodes, const Unplaceable& answer);
  void Clear() { refused_.clear(); }

  // The memo as plain values, in no order, to replay a decision. Restore adds one back.
  struct Entry {
    Nodes nodes;
    std::string shape;  // FeasibilityKey, which includes the size
    Unplaceable answer;
  };
  std::vector<Entry> Entries() const;
  void Restore(const Entry& entry);

 private:
  struct Refused {
    Nodes nodes;  // owned, so that the address in Key stays unique
    Unplaceable answer;
  };
  using Key = std::pair<const GangNodes*, std::string>;
  static Key KeyOf(const GangRequest& request, const Nodes& nodes);

  std::map<Key, Refused> refused_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_REFUSAL_MEMO_H_
