#ifndef MUSTER_OPERATOR_CORE_FAILURE_WORDS_H_
#define MUSTER_OPERATOR_CORE_FAILURE_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// Failures as people are told of them.
namespace muster::control {

// What a program said last is usually why it ended. At most 512 bytes; empty when it said nothing.
std::string LastLine(absl::string_view log);

// "rank 1 of worker 1 ended with exit code 7 (Exited); it said: no such file". `log` may be empty.
std::string DescribeFailure(const v1alpha1::FailureRecord& record, absl::string_view log);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_WORDS_H_
