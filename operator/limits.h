#ifndef MUSTER_OPERATOR_LIMITS_H_
#define MUSTER_OPERATOR_LIMITS_H_

namespace muster::control {

// Raises this process's limit of open files as far as allowed, and warns if it is too low for 5,000
// agents: above the limit no agent can connect, and none that lost its connection can return.
void RaiseLimits();

// Lets memory that the first lists and bursts of responses have freed return to the kernel: large
// buffers are mapped one by one, and all threads share a few heaps for small ones, because
// otherwise each thread would keep a heap at its peak size.
void LimitHeaps();

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LIMITS_H_
