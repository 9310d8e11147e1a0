#ifndef MUSTER_TRAINER_ENGINE_LINK_TORCH_ERRORS_H_
#define MUSTER_TRAINER_ENGINE_LINK_TORCH_ERRORS_H_

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "c10/util/Exception.h"
#include "trainer/comm/communication_error.h"

namespace muster::trainer {

// LibTorch throws if it has no memory or refuses its arguments. Runs `run` and turns an exception
// into an error that names `what`, so that the rank reports it instead of dying silently:
// that of a collective if it failed, InvalidArgument for LibTorch's ValueError, which blames the
// caller's input, ResourceExhausted for a device without memory, else Unknown.
template <typename F>
absl::Status CatchTorch(absl::string_view what, F&& run) {
  try {
    return std::forward<F>(run)();
  } catch (const CommunicationError& e) {
    return absl::Status(e.status().code(), absl::StrCat(what, ": ", e.status().message()));
  } catch (const c10::ValueError& e) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", e.what_without_backtrace()));
  } catch (const c10::OutOfMemoryError& e) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": ", e.what_without_backtrace()));
  } catch (const c10::Error& e) {
    return absl::UnknownError(absl::StrCat(what, ": ", e.what_without_backtrace()));
  } catch (const std::exception& e) {
    return absl::UnknownError(absl::StrCat(what, ": ", e.what()));
  }
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_TORCH_ERRORS_H_
