#ifndef MUSTER_TESTS_BENCH_STEP_TRACE_H_
#define MUSTER_TESTS_BENCH_STEP_TRACE_H_

#include <memory>
#include <string>

namespace muster::trainer {

// Records LibTorch's operators and the kernels of the device from its construction to its
// destruction, which writes them to a file in the format of Chrome's trace viewer. One at a time.
class StepTrace {
 public:
  explicit StepTrace(std::string file);
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

 private:
  const std::string file_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_BENCH_STEP_TRACE_H_
