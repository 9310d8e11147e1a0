#ifndef GLOO_ALGORITHM_H_
#define GLOO_ALGORITHM_H_

// Included by ProcessGroupGloo.hpp, which uses nothing of it.

#endif  // GLOO_ALGORITHM_H_
