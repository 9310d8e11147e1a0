#ifndef MUSTER_TRAINER_LOGS_STEP_EVENTS_H_
#define MUSTER_TRAINER_LOGS_STEP_EVENTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// The bytes of event files of TensorBoard. A file is a sequence of records, each of one Event
// (event.proto); every function returns whole records. Pure.
namespace muster::trainer {

// Frames `data` as a record of TFRecord: its length in 8 bytes, the masked CRC-32C of these, the
// data, and the masked CRC-32C of the data. Numbers are little-endian. A CRC is masked as
// ((crc >> 15) | (crc << 17)) + 0xa282ead8.
std::string FrameRecord(std::string_view data);

// Returns the record that begins a file.
std::string FileVersionRecord(absl::Time wall);

// Returns the record that makes readers forget what they have read of `step` and later ones,
// because the run goes on with `step`.
std::string RestartRecord(int64_t step, absl::Time wall);

// Returns the record of a step's values: train/loss in nats per token, train/gradientNorm before
// clipping, train/learningRate, train/skippedSteps (of the run so far), and where they are known
// validation/loss and train/tokensPerSecond, whose time is the step's without the start of the
// process and recovery. TensorBoard keeps values in FP32; they are rounded to it here.
std::string StepRecord(const v1alpha1::StepReport& report);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_LOGS_STEP_EVENTS_H_
