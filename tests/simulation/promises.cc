#include "tests/simulation/promises.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

std::vector<int64_t> IncarnationsOf(const Json& job) {
  const Json* list = JobField(job, {"status", "incarnations"});
  if (list == nullptr || !list->is_array()) return {};
  return list->get<std::vector<int64_t>>();
}

int64_t LabelNumber(const Json& pod, std::string_view label) {
  int64_t number = -1;
  return absl::SimpleAtoi(kube::LabelOf(pod, label), &number) ? number : -1;
}

}  // namespace

void Promises::PodCreated(const Json& pod, const Json& job) {
  const std::string name = kube::NameOf(pod);
  if (!created_.insert(absl::StrCat(kube::UidOf(job), "/", name)).second) {
    Break(absl::StrCat("pod ", name, " was created twice"));
  }
  const std::vector<int64_t> recorded = IncarnationsOf(job);
  const int64_t index = LabelNumber(pod, "muster.dev/index");
  const bool known = index >= 0 && index < static_cast<int64_t>(recorded.size());
  if (!known || LabelNumber(pod, "muster.dev/incarnation") > recorded[index]) {
    Break(absl::StrCat("pod ", name, " is ahead of the recorded incarnation"));
  }
}

void Promises::StatusWritten(const Json& before, const Json& after) {
  const std::string name = kube::NameOf(after);
  for (const char* field : {"term", "round"}) {
    if (JobNumber(after, {"status", field}) < JobNumber(before, {"status", field})) {
      Break(absl::StrCat(name, ": ", field, " went back"));
    }
  }
  if (JobNumber(after, {"status", "observedGeneration"}) > kube::GenerationOf(after)) {
    Break(absl::StrCat(name, ": observedGeneration is ahead"));
  }
  const std::vector<int64_t> old_ones = IncarnationsOf(before);
  const std::vector<int64_t> new_ones = IncarnationsOf(after);
  for (size_t i = 0; i < std::min(old_ones.size(), new_ones.size()); ++i) {
    if (new_ones[i] < old_ones[i]) Break(absl::StrCat(name, ": an incarnation went back"));
  }
}

void Promises::OrderSent(const std::string& job, const Order& order, RoundStamp recorded) {
  if (const auto* prepare = std::get_if<PrepareOrder>(&order.what)) {
    if (prepare->round > recorded) Break("Prepare of a round that is not recorded");
    const auto [known, first] =
        membership_.try_emplace({job, prepare->round.round}, prepare->membership);
    if (known->second != prepare->membership) Break("one round with two memberships");
  }
  if (const auto* go = std::get_if<GoOrder>(&order.what)) {
    const std::string text = go->go->SerializeAsString();
    const auto [known, first] = resume_.try_emplace({job, go->go->round().round()}, text);
    if (known->second != text) Break("one round with two resume points");
  }
}

void Promises::AgentMoved(const std::string& agent, RoundStamp before, RoundStamp after) {
  if (after < before) Break(absl::StrCat(agent, " obeyed an order of an old term or round"));
}

void Promises::Stepped(const std::string& job, int64_t round, int64_t step) {
  int64_t& last = stepped_round_[job];
  if (round < last) Break(absl::StrCat("round ", round, " steps after round ", last, " did"));
  last = std::max(last, round);
  committed_[job] = step;
}

void Promises::Resumed(const std::string& job, int64_t round, int64_t step, bool holder_lives) {
  int64_t& committed = committed_[job];
  if (step < committed && holder_lives) {
    Break(
        absl::StrCat("round ", round, " goes on from step ", step, ", committed was ", committed));
  }
  committed = step;
}

int64_t Promises::committed(const std::string& job) const {
  const auto found = committed_.find(job);
  return found == committed_.end() ? 0 : found->second;
}

}  // namespace muster::control
