#ifndef MUSTER_OPERATOR_LIMITS_H_
#define MUSTER_OPERATOR_LIMITS_H_

namespace muster::control {

// Raises this process's limit of open files as far as it may, and warns when that is too low for
// 5,000 agents: beyond it no agent is let in, and none that lost its connection comes back.
void RaiseLimits();

// What the first lists and a burst of answers take and give back goes back to the kernel, too:
// large buffers come from it one by one, and small ones from a few heaps for all threads, or each
// thread would keep a heap as large as it once was.
void LimitHeaps();

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LIMITS_H_
