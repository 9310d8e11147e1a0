#ifndef GLOO_COMMON_ERROR_H_
#define GLOO_COMMON_ERROR_H_

// Included by ProcessGroupGloo.hpp, which uses nothing of it.

#endif  // GLOO_COMMON_ERROR_H_
