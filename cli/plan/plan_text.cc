#include "cli/plan/plan_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/byte_text.h"
#include "cli/show/progress_line.h"
#include "cli/show/text_table.h"
#include "planner/plan_spec.h"

namespace muster::cli {
namespace {

using planner::DeviceMemory;
using planner::Plan;
using planner::PlanRequest;
using planner::StepTime;

// One class of a step's time or of a rank's memory.
struct Part {
  const char* key;   // in JSON
  const char* text;  // for people
  double amount = 0;
};

std::vector<Part> PartsOf(const StepTime& time) {
  return {{"products", "matrix products", time.products},
          {"attention", "attention", time.attention},
          {"passes", "norms, activations, residuals (memory's bandwidth)", time.passes},
          {"recompute", "forward passes computed again", time.recompute},
          {"head", "embedding, logits and loss", time.head},
          {"host", "waiting for the host to start operations", time.host},
          {"tensor", "exchange along the tensor axis", time.tensor},
          {"context", "exchange along the context axis", time.context},
          {"messages", "messages between stages", time.messages},
          {"data", "exchange of gradients and weights that nothing hides", time.data},
          {"bubble", "stages that wait for others", time.bubble},
          {"optimizer", "optimizer", time.optimizer},
          {"fixed", "other", time.fixed}};
}

std::vector<Part> PartsOf(const DeviceMemory& memory) {
  const auto bytes = [](int64_t number) { return static_cast<double>(number); };
  const planner::MemoryEstimate& rank = memory.rank;
  return {
      {"parameters", "weights", bytes(rank.parameters)},
      {"casts", "weights in the type of products", bytes(rank.casts)},
      {"gradients", "gradients", bytes(rank.gradients)},
      {"optimizer", "optimizer's state", bytes(rank.optimizer)},
      {"update", "the optimizer's update", bytes(rank.update)},
      {"activations", "activations", bytes(rank.activations)},
      {"logits", "logits", bytes(rank.logits)},
      {"checkpointCopy", "the copy that a checkpoint is written from", bytes(rank.checkpoint_copy)},
      {"program", "program and libraries", bytes(rank.fixed)},
      {"driver", "the driver's context", bytes(memory.driver)},
      {"collectives", "buffers of NCCL's groups", bytes(memory.collectives)},
      {"reserve", "reserve for what an allocator cannot use", bytes(memory.reserve)}};
}

// Returns the largest first.
std::vector<Part> Sorted(std::vector<Part> parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.amount > b.amount; });
  return parts;
}

std::string Seconds(double seconds) {
  if (seconds < 1) return absl::StrFormat("%.1f ms", seconds * 1000);
  return seconds < 10 ? absl::StrFormat("%.2f s", seconds) : absl::StrFormat("%.1f s", seconds);
}

std::string LongTime(double seconds) {
  if (seconds < 60) return Seconds(seconds);
  if (seconds < 2 * 3600) return absl::StrFormat("%.1f minutes", seconds / 60);
  if (seconds < 48 * 3600) return absl::StrFormat("%.1f hours", seconds / 3600);
  return absl::StrFormat("%.1f days", seconds / 86400);
}

std::string Percent(double part) { return absl::StrFormat("%.1f %%", 100 * part); }

double TokensPerSecond(const PlanRequest& request, const Plan& plan) {
  return static_cast<double>(request.work.global_batch) *
         static_cast<double>(request.work.sequence) / plan.time.Total();
}

const char* Unit(const PlanRequest& request) { return request.device.is_cpu ? "rank" : "GPU"; }

std::string Against(const Plan& plan, const Plan& chosen) {
  const double more = plan.time.Total() / chosen.time.Total() - 1;
  if (more > -0.0005 && more < 0.0005) return "same";
  return absl::StrFormat("%+.1f %%", 100 * more);
}

std::string Heading(const PlanAnswer& answer) {
  const PlanRequest& request = answer.request;
  const double parameters = static_cast<double>(planner::ParameterCount(request.work.shape));
  const bool billions = parameters >= 1e9;
  const std::string where = request.device.is_cpu
                                ? absl::StrCat(request.ranks, " ranks on CPUs")
                                : absl::StrCat(request.ranks, " x ", request.device.name);
  return absl::StrFormat(
      "%s: %s, %.3g %s parameters, on %s, %d in a worker\n"
      "a step: %d sequences of %d tokens in %s\n",
      answer.job, answer.model, parameters / (billions ? 1e9 : 1e6),
      billions ? "billion" : "million", where, request.ranks_of_worker, request.work.global_batch,
      request.work.sequence, answer.precision);
}

std::string ChosenText(const PlanAnswer& answer) {
  const PlanRequest& request = answer.request;
  const Plan& chosen = answer.result.plans.front();
  const char* const resource = request.device.is_cpu ? "ranks" : "gpus";
  std::string text = absl::StrCat(
      "\nThe layout to take: ", planner::LayoutText(chosen.layout),
      "\n\n  workers: {count: ", request.ranks / request.ranks_of_worker, ", ", resource, ": ",
      request.ranks_of_worker, "}\n  trainer:\n", planner::LayoutYaml(chosen.layout, 4));
  absl::StrAppendFormat(&text, "\nA step: %s, %s tokens/s, MFU %s\n", Seconds(chosen.time.Total()),
                        Short(TokensPerSecond(request, chosen)),
                        Percent(planner::ModelUse(request, chosen.time.Total())));
  const double all = chosen.time.Total() * static_cast<double>(answer.steps);
  absl::StrAppendFormat(&text,
                        "All %d steps: %s, %s %s hours, without saves, validation and failures\n",
                        answer.steps, LongTime(all),
                        Short(all / 3600 * static_cast<double>(request.ranks)), Unit(request));
  std::vector<Row> rows;
  for (const Part& part : Sorted(PartsOf(chosen.time))) {
    const double share = part.amount / chosen.time.Total();
    if (share < 0.0005) continue;
    rows.push_back({absl::StrCat("  ", part.text), Seconds(part.amount), Percent(share)});
  }
  absl::StrAppend(&text, TextTable(rows));
  return text;
}

// Returns a sentence on the class with most time, and on what else there is.
std::string BoundText(const StepTime& time) {
  const double computes = time.products + time.attention + time.recompute + time.head;
  const std::pair<double, const char*> bounds[] = {
      {computes, "arithmetic; more or faster devices make it shorter"},
      {time.passes, "passes over the device's memory, whose bandwidth decides"},
      {time.host,
       "waiting for the host, which starts the operations of so small blocks too slowly; a larger "
       "micro-batch gives it more time"},
      {time.tensor + time.context,
       "exchange within layers; fewer ranks along tensor or context, or faster links, make it "
       "shorter"},
      {time.data,
       "exchanging gradients and weights; a larger globalBatch, a faster network or a lower stage "
       "of ZeRO make it shorter"},
      {time.bubble + time.messages,
       "waiting of stages for each other; more micro-batches, by a larger globalBatch, make it "
       "shorter"},
      {time.optimizer, "the optimizer's update; dividing its state with zero makes it shorter"}};
  const auto* most = &bounds[0];
  for (const auto& bound : bounds) {
    if (bound.first > most->first) most = &bound;
  }
  return absl::StrFormat("\n%.0f %% of a step goes into %s.\n", 100 * most->first / time.Total(),
                         most->second);
}

std::string MemoryText(const PlanAnswer& answer) {
  const PlanRequest& request = answer.request;
  const DeviceMemory& memory = answer.result.plans.front().memory;
  std::string text = absl::StrCat("\nMemory of a ", Unit(request), ": ", ByteText(memory.Total()),
                                  " of ", ByteText(request.device.memory_bytes), "\n");
  std::vector<Row> rows;
  for (const Part& part : Sorted(PartsOf(memory))) {
    if (part.amount < 1) continue;
    rows.push_back({absl::StrCat("  ", part.text), ByteText(static_cast<int64_t>(part.amount))});
  }
  absl::StrAppend(&text, TextTable(rows));
  if (memory.on_host > 0) {
    absl::StrAppend(&text, "  and ", ByteText(memory.on_host * request.ranks_of_worker),
                    " of a machine's memory, for copies that checkpoints are written from\n");
  }
  return text;
}

std::string WrittenText(const PlanAnswer& answer) {
  const Plan& chosen = answer.result.plans.front();
  const std::string layout = planner::LayoutText(answer.written.layout);
  if (answer.written.layout == chosen.layout) return "\nThe manifest has this layout already.\n";
  if (answer.written_refusal) {
    return absl::StrCat("\nThe manifest's own layout (", layout,
                        ") cannot run: ", planner::Describe(*answer.written_refusal), ".\n");
  }
  return absl::StrCat("\nThe manifest's own layout (", layout, ") would take ",
                      Seconds(answer.written.time.Total()), " a step (",
                      Against(answer.written, chosen), ") and ",
                      ByteText(answer.written.memory.Total()), ".\n");
}

Row RowOf(const std::string& name, const Plan& plan, const Plan& chosen) {
  return {absl::StrCat("  ", name), Seconds(plan.time.Total()), Against(plan, chosen),
          ByteText(plan.memory.Total())};
}

std::string NeighboursText(const PlanAnswer& answer) {
  const Plan& chosen = answer.result.plans.front();
  std::vector<Row> rows = {{"  ONE CHANGE", "STEP", "AGAINST IT", "MEMORY", "REFUSED"}};
  for (const planner::Neighbour& neighbour : answer.result.neighbours) {
    if (!neighbour.refusal) {
      rows.push_back(RowOf(neighbour.change, neighbour.plan, chosen));
      rows.back().emplace_back("");
      continue;
    }
    const bool memory = *neighbour.refusal >= planner::Refusal::kWeights;
    rows.push_back({absl::StrCat("  ", neighbour.change), "", "",
                    memory ? ByteText(neighbour.plan.memory.Total()) : "",
                    std::string(planner::Describe(*neighbour.refusal))});
  }
  std::string text = absl::StrCat("\nWhat its neighbours would take:\n", TextTable(rows));
  if (answer.result.plans.size() < 2) return text;
  std::vector<Row> others = {{"  LAYOUT", "STEP", "AGAINST IT", "MEMORY"}};
  for (size_t i = 1; i < answer.result.plans.size(); ++i) {
    const Plan& plan = answer.result.plans[i];
    others.push_back(RowOf(planner::LayoutText(plan.layout), plan, chosen));
  }
  absl::StrAppend(
      &text, "\nThe fastest others (of those within 3 % of the fastest the simplest is taken):\n",
      TextTable(others));
  return text;
}

std::string RefusedText(const PlanAnswer& answer) {
  std::string text = absl::StrCat("\n", answer.result.considered, " layouts were considered");
  if (answer.result.refused.empty()) return absl::StrCat(text, "; all could run.\n");
  absl::StrAppend(&text, ". Refused, with all larger micro-batches of the same layout:\n");
  for (const planner::Refused& refused : answer.result.refused) {
    absl::StrAppendFormat(&text, "  %6d   %s\n", refused.layouts,
                          std::string(planner::Describe(refused.reason)));
    const std::string layout = planner::LayoutText(refused.nearest);
    if (refused.bytes > 0) {
      absl::StrAppend(&text, "           the nearest needs ", ByteText(refused.bytes), ": ", layout,
                      "\n");
    } else {
      absl::StrAppend(&text, "           such as ", layout, "\n");
    }
  }
  return text;
}

Json LayoutJson(const planner::Layout& layout) {
  return {{"data", layout.data},
          {"shard", layout.shard},
          {"tensor", layout.tensor},
          {"pipeline", layout.pipeline},
          {"context", layout.context},
          {"contextExchange", layout.ring ? "Ring" : "Heads"},
          {"schedule", std::string(planner::Name(layout.schedule))},
          {"chunks", layout.chunks},
          {"microBatch", layout.micro_batch},
          {"zero", layout.zero},
          {"recompute", layout.recompute == planner::Recompute::kFull ? "Full" : "None"},
          {"recomputeEvery", layout.recompute_every},
          {"offloadOptimizer", layout.offload}};
}

Json PartsJson(const std::vector<Part>& parts, bool whole) {
  Json json = Json::object();
  for (const Part& part : parts) {
    if (whole) {
      json[part.key] = static_cast<int64_t>(part.amount);
    } else {
      json[part.key] = part.amount;
    }
  }
  return json;
}

Json PlanOf(const PlanRequest& request, const Plan& plan,
            const std::optional<planner::Refusal>& refusal) {
  Json json = {{"layout", LayoutJson(plan.layout)}};
  if (refusal) json["refused"] = std::string(planner::Describe(*refusal));
  if (!refusal || *refusal >= planner::Refusal::kWeights) {
    json["memory"] = PartsJson(PartsOf(plan.memory), /*whole=*/true);
    json["memory"]["total"] = plan.memory.Total();
    json["memory"]["onHost"] = plan.memory.on_host;
  }
  if (refusal) return json;
  json["yaml"] = planner::LayoutYaml(plan.layout, 0);
  json["seconds"] = PartsJson(PartsOf(plan.time), /*whole=*/false);
  json["seconds"]["total"] = plan.time.Total();
  json["tokensPerSecond"] = TokensPerSecond(request, plan);
  json["modelFlopsUtilisation"] = planner::ModelUse(request, plan.time.Total());
  return json;
}

}  // namespace

std::string PlanText(const PlanAnswer& answer) {
  std::string text = Heading(answer);
  if (answer.result.plans.empty()) {
    const std::string more =
        answer.enough_ranks > 0
            ? absl::StrCat(" It would run on ", answer.enough_ranks, ".")
            : " Neither is there one on any doubling of them that the global batch has work for.";
    return absl::StrCat(text, "\nThere is no layout that could run.", more, "\n",
                        RefusedText(answer));
  }
  absl::StrAppend(&text, ChosenText(answer), BoundText(answer.result.plans.front().time),
                  MemoryText(answer), WrittenText(answer), NeighboursText(answer),
                  RefusedText(answer));
  if (answer.request.device.is_cpu) {
    absl::StrAppend(&text,
                    "\nThe rates of a CPU are those of a server with two sockets of 32 "
                    "cores: on others compare the layouts, not the seconds.\n");
  }
  return text;
}

Json PlanJson(const PlanAnswer& answer) {
  const PlanRequest& request = answer.request;
  Json plans = Json::array(), neighbours = Json::array(), refused = Json::array();
  for (const Plan& plan : answer.result.plans) plans.push_back(PlanOf(request, plan, {}));
  for (const planner::Neighbour& neighbour : answer.result.neighbours) {
    Json json = PlanOf(request, neighbour.plan, neighbour.refusal);
    json["change"] = neighbour.change;
    neighbours.push_back(std::move(json));
  }
  for (const planner::Refused& one : answer.result.refused) {
    Json json = {{"reason", std::string(planner::Describe(one.reason))},
                 {"layouts", one.layouts},
                 {"nearest", LayoutJson(one.nearest)}};
    if (one.bytes > 0) json["bytes"] = one.bytes;
    refused.push_back(std::move(json));
  }
  return {{"job", answer.job},
          {"model", answer.model},
          {"parameters", planner::ParameterCount(request.work.shape)},
          {"device", std::string(request.device.name)},
          {"deviceMemory", request.device.memory_bytes},
          {"steps", answer.steps},
          {"ranks", request.ranks},
          {"ranksOfWorker", request.ranks_of_worker},
          {"enoughRanks", answer.enough_ranks},
          {"considered", answer.result.considered},
          {"plans", std::move(plans)},
          {"manifest", PlanOf(request, answer.written, answer.written_refusal)},
          {"neighbours", std::move(neighbours)},
          {"refused", std::move(refused)}};
}

}  // namespace muster::cli
