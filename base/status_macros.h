#ifndef MUSTER_BASE_STATUS_MACROS_H_
#define MUSTER_BASE_STATUS_MACROS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Early returns on error, as in newer versions of Abseil's status_macros.h, which Debian's Abseil
// does not have yet.
//
//   MUSTER_RETURN_IF_ERROR(file.Sync());
//   MUSTER_ASSIGN_OR_RETURN(std::string text, ReadFile(path));

#define MUSTER_RETURN_IF_ERROR(expr)                                  \
  do {                                                                \
    if (absl::Status muster_status_ = (expr); !muster_status_.ok()) { \
      return muster_status_;                                          \
    }                                                                 \
  } while (false)

#define MUSTER_STATUS_CONCAT_INNER_(a, b) a##b
#define MUSTER_STATUS_CONCAT_(a, b) MUSTER_STATUS_CONCAT_INNER_(a, b)
#define MUSTER_ASSIGN_OR_RETURN(lhs, expr) \
  MUSTER_ASSIGN_OR_RETURN_IMPL_(MUSTER_STATUS_CONCAT_(muster_status_or_, __LINE__), lhs, expr)
#define MUSTER_ASSIGN_OR_RETURN_IMPL_(var, lhs, expr) \
  auto var = (expr);                                  \
  if (!var.ok()) return std::move(var).status();      \
  lhs = *std::move(var)

#endif  // MUSTER_BASE_STATUS_MACROS_H_
