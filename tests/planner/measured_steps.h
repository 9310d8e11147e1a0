#ifndef MUSTER_TESTS_PLANNER_MEASURED_STEPS_H_
#define MUSTER_TESTS_PLANNER_MEASURED_STEPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/devices.h"
#include "planner/engine.h"
#include "planner/step_time.h"

namespace muster::planner {

// One training step that somebody measured, and what the planner needs to predict it.
struct MeasuredStep {
  std::string row;
  Work work;
  Layout layout;
  Device device;
  Wiring wiring;
  Engine engine;
  double seconds = 0;
};

// The measured memory of one row of selene.csv, in GiB.
struct MeasuredMemory {
  Work work;
  Layout layout;  // without recomputation
  double activations_none = 0, activations_selective = 0, state = 0;
};

// Each reads a file of tests/planner/measured in `folder`. InvalidArgument for a file that has
// other columns or no number where one belongs.
absl::StatusOr<std::vector<MeasuredStep>> SeleneSteps(const std::string& folder);
absl::StatusOr<std::vector<MeasuredMemory>> SeleneMemory(const std::string& folder);
absl::StatusOr<std::vector<MeasuredStep>> VTrainSteps(const std::string& folder, bool multi);
absl::StatusOr<std::vector<MeasuredStep>> MusterSteps(const std::string& folder);

// The distance of predictions from measurements, relative to these, in percent.
struct Score {
  double mean = 0;   // of absolute values
  double worst = 0;  // the largest absolute value
  std::string worst_row;
};
Score ScoreOf(const std::vector<MeasuredStep>& steps);

}  // namespace muster::planner

#endif  // MUSTER_TESTS_PLANNER_MEASURED_STEPS_H_
