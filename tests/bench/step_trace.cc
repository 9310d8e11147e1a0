#include "tests/bench/step_trace.h"

#include <set>
#include <utility>

#include "torch/csrc/autograd/profiler_kineto.h"

namespace muster::trainer {

namespace profiler = torch::autograd::profiler;

StepTrace::StepTrace(std::string file) : file_(std::move(file)) {
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CPU,
                                                       profiler::ActivityType::CUDA};
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
}

StepTrace::~StepTrace() { profiler::disableProfiler()->save(file_); }

}  // namespace muster::trainer
