#ifndef MUSTER_CLI_PLAN_PLAN_TEXT_H_
#define MUSTER_CLI_PLAN_PLAN_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "planner/search.h"

namespace muster::cli {

// Formats the answer of `muster plan`. Pure.

// Everything that an answer is made of.
struct PlanAnswer {
  std::string job;    // the job's name
  std::string model;  // the model's name, for people
  std::string precision;
  int64_t steps = 0;  // of the whole job
  planner::PlanRequest request;
  planner::PlanResult result;
  // The layout that the manifest has now, with its refusal if it could not run.
  planner::Plan written;
  std::optional<planner::Refusal> written_refusal;
  // If there is no plan: the smallest doubling of the ranks that has one; 0 if it is not known.
  int64_t enough_ranks = 0;
};

// Returns the answer for people; every line ends in a newline.
std::string PlanText(const PlanAnswer& answer);
// Returns the whole answer as a document. Times are in seconds, sizes in bytes.
Json PlanJson(const PlanAnswer& answer);

}  // namespace muster::cli

#endif  // MUSTER_CLI_PLAN_PLAN_TEXT_H_
