#ifndef GLOO_CONTEXT_H_
#define GLOO_CONTEXT_H_

#include <chrono>

// Only named: every object is made inside libtorch_cpu, so its layout is never used here.
namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport

}  // namespace gloo

#endif  // GLOO_CONTEXT_H_
