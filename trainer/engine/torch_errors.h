#ifndef MUSTER_TRAINER_ENGINE_TORCH_ERRORS_H_
#define MUSTER_TRAINER_ENGINE_TORCH_ERRORS_H_

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "c10/util/Exception.h"

namespace muster::trainer {

// LibTorch throws where it has no memory, or is given what it cannot take. Runs `run` and makes of
// an exception an Unknown error that says at `what` it happened; so it becomes the rank's last
// words, and not the silence of a process that was aborted.
template <typename F>
absl::Status CatchTorch(absl::string_view what, F&& run) {
  try {
    return std::forward<F>(run)();
  } catch (const c10::Error& e) {
    return absl::UnknownError(absl::StrCat(what, ": ", e.what_without_backtrace()));
  } catch (const std::exception& e) {
    return absl::UnknownError(absl::StrCat(what, ": ", e.what()));
  }
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TORCH_ERRORS_H_
