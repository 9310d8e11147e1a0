#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_LABEL_SELECTOR_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_LABEL_SELECTOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/placement/label_map.h"

namespace muster::control {

// Kubernetes' rules for a label's key ("a.example/b") and value.
bool IsLabelKey(std::string_view key);
bool IsLabelValue(std::string_view value);

enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGreaterThan, kLessThan };

struct LabelRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;

  bool Matches(const LabelMap& labels) const;
  // Returns true if k8s.io/apimachinery's NewRequirement would accept it: keys and values must be
  // label keys and values, Gt and Lt take one integer.
  bool IsValid() const;

  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;
};

// metav1.LabelSelector. An absent one selects nothing, an empty one everything.
struct LabelSelector {
  bool absent = true;
  bool valid = true;
  std::vector<LabelRequirement> requirements;

  bool Matches(const LabelMap& labels) const;
  bool SelectsEverything() const { return !absent && requirements.empty(); }

  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

// `json` may be null: absent.
LabelSelector ParseLabelSelector(const Json* json);

// One entry of nodeSelectorTerms: all of its requirements must hold. Terms are alternatives.
struct NodeSelectorTerm {
  // False: an operator, key or value is invalid. The term then has no effect, as in kube-scheduler.
  bool valid = true;
  std::vector<LabelRequirement> expressions;
  std::vector<LabelRequirement> fields;  // metadata.name

  bool Matches(const LabelMap& labels, const std::string& node_name) const;

  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

// v1.NodeSelector: `json` has nodeSelectorTerms. Empty terms, which match nothing, are left out.
std::vector<NodeSelectorTerm> ParseNodeSelectorTerms(const Json& json);
bool MatchesAnyTerm(const std::vector<NodeSelectorTerm>& terms, const LabelMap& labels,
                    const std::string& node_name);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_LABEL_SELECTOR_H_
