#include "trainer/logs/step_events.h"

#include "trainer/logs/crc32c.h"
#include "trainer/logs/event.pb.h"

namespace muster::trainer {
namespace {

void AppendLittleEndian(uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

double Seconds(int64_t micros) { return static_cast<double>(micros) / 1e6; }

double SecondsOfStep(const v1alpha1::PhaseTimes& times) {
  return times.compute() + times.data() + times.communication() + times.checkpoint() +
         times.other();
}

}  // namespace

std::string FrameRecord(std::string_view data) {
  std::string out;
  out.reserve(data.size() + 16);
  AppendLittleEndian(data.size(), 8, out);
  AppendLittleEndian(MaskedCrc(out), 4, out);
  out.append(data);
  AppendLittleEndian(MaskedCrc(data), 4, out);
  return out;
}

std::string FileVersionRecord(absl::Time wall) {
  tensorboard::Event event;
  event.set_wall_time(Seconds(absl::ToUnixMicros(wall)));
  event.set_file_version("brain.Event:2");
  return FrameRecord(event.SerializeAsString());
}

std::string RestartRecord(int64_t step, absl::Time wall) {
  tensorboard::Event event;
  event.set_wall_time(Seconds(absl::ToUnixMicros(wall)));
  event.set_step(step);
  event.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  return FrameRecord(event.SerializeAsString());
}

std::string StepRecord(const v1alpha1::StepReport& report) {
  tensorboard::Event event;
  event.set_wall_time(Seconds(report.finished_at_us()));
  event.set_step(report.version().step());
  const auto add = [&](const char* tag, double value) {
    tensorboard::Summary::Value& added = *event.mutable_summary()->add_value();
    added.set_tag(tag);
    added.set_simple_value(static_cast<float>(value));
  };
  add("train/loss", report.loss());
  add("train/gradientNorm", report.gradient_norm());
  add("train/learningRate", report.learning_rate());
  add("train/skippedSteps", static_cast<double>(report.skipped_total()));
  const double seconds = SecondsOfStep(report.times());
  if (seconds > 0) add("train/tokensPerSecond", static_cast<double>(report.tokens()) / seconds);
  if (report.has_validation_loss()) add("validation/loss", report.validation_loss());
  return FrameRecord(event.SerializeAsString());
}

}  // namespace muster::trainer
