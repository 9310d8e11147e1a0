#include "operator/web/encode.h"

#include <cmath>

namespace muster::control {
namespace {

Json ToJson(const v1alpha1::RoundId& id) { return {{"term", id.term()}, {"round", id.round()}}; }

Json ToJson(const v1alpha1::PhaseTimes& times) {
  return {{"init", times.init()},
          {"compute", times.compute()},
          {"data", times.data()},
          {"communication", times.communication()},
          {"checkpoint", times.checkpoint()},
          {"recovery", times.recovery()},
          {"other", times.other()}};
}

Json ToJson(const v1alpha1::Tuning& tuning) {
  Json json = {{"step", tuning.step()}};
  if (tuning.has_learning_rate()) json["learningRate"] = FiniteNumber(tuning.learning_rate());
  if (tuning.has_clip_norm()) json["clipNorm"] = FiniteNumber(tuning.clip_norm());
  return json;
}

}  // namespace

Json FiniteNumber(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json ToJson(const v1alpha1::StepReport& step) {
  Json json = {{"step", step.version().step()},
               {"attempt", step.version().attempt()},
               {"loss", FiniteNumber(step.loss())},
               {"gradientNorm", FiniteNumber(step.gradient_norm())},
               {"learningRate", FiniteNumber(step.learning_rate())},
               {"applied", step.applied()},
               {"tokens", step.tokens()},
               {"finishedAtMicros", step.finished_at_us()},
               {"times", ToJson(step.times())}};
  if (step.mean_busy_seconds() > 0) {
    json["busy"] = {{"mean", step.mean_busy_seconds()},
                    {"longest", step.longest_busy_seconds()},
                    {"slowestRank", step.slowest_rank()}};
  }
  if (step.has_device_memory()) {
    const v1alpha1::DeviceMemory& memory = step.device_memory();
    json["deviceMemory"] = {{"total", memory.total()},
                            {"reserved", memory.reserved()},
                            {"allocatedPeak", memory.allocated_peak()},
                            {"retries", memory.retries()}};
  }
  if (step.has_validation_loss()) json["validationLoss"] = FiniteNumber(step.validation_loss());
  if (step.has_loss_scale()) json["lossScale"] = step.loss_scale();
  if (step.spikes_total() > 0) json["spikes"] = step.spikes_total();
  if (!step.spike().empty()) json["spike"] = step.spike();
  if (step.tunings() > 0) {
    json["tunings"] = step.tunings();
    json["tuning"] = ToJson(step.tuning());
  }
  return json;
}

Json ToJson(const v1alpha1::CheckpointReport& report) {
  return {{"step", report.version().step()},
          {"directory", report.directory()},
          {"uri", report.uri()},
          {"error", report.error()},
          {"bytes", report.bytes()},
          {"seconds", report.seconds()}};
}

Json ToJson(const ProgressSnapshot& snapshot) {
  Json json = {{"tokensPerSecond", snapshot.tokens_per_second},
               {"stepsPerSecond", snapshot.steps_per_second},
               {"stepsSeen", snapshot.steps_seen},
               {"times", ToJson(snapshot.times)}};
  if (snapshot.last_step) json["lastStep"] = ToJson(*snapshot.last_step);
  if (snapshot.best_loss) json["bestLoss"] = FiniteNumber(*snapshot.best_loss);
  if (snapshot.validation_loss) json["validationLoss"] = FiniteNumber(*snapshot.validation_loss);
  if (snapshot.last_written) json["checkpoint"] = ToJson(*snapshot.last_written);
  if (snapshot.last_failed) json["checkpointFailure"] = ToJson(*snapshot.last_failed);
  return json;
}

Json ToJson(const AgentState& agent) {
  Json json = {{"index", agent.worker.index()},
               {"incarnation", agent.worker.incarnation()},
               {"attached", agent.attached},
               {"session", agent.session},
               {"ranks", agent.ranks},
               {"host", agent.host},
               {"version", agent.version},
               {"seen", ToJson(agent.seen)},
               {"active", ToJson(agent.active)},
               {"unhandledFailures", agent.exits.size() + agent.stalls.size()}};
  if (agent.ready) json["ready"] = ToJson(agent.ready->round());
  if (agent.joined) json["joined"] = ToJson(agent.joined->round());
  if (agent.finished) json["finished"] = ToJson(agent.finished->round());
  return json;
}

Json ToJson(const JobDebug& debug) {
  Json json = {{"key", debug.key},
               {"uid", debug.uid},
               {"term", debug.term},
               {"round", {{"term", debug.round.term}, {"round", debug.round.round}}},
               {"state", debug.state},
               {"phase", debug.phase},
               {"reason", debug.reason},
               {"sentence", debug.sentence},
               {"reconciles", debug.reconciles},
               {"reconcile", debug.reconcile},
               {"changedBy", debug.changed_by},
               {"roundsOpened", debug.rounds_opened},
               {"recoveries", debug.recoveries}};
  if (!debug.recovering_from.empty()) json["recoveringFrom"] = debug.recovering_from;
  return json;
}

Json ToJson(const PodRecord& pod) {
  static constexpr const char* kPhases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
  Json json = {{"name", pod.key.name},
               {"phase", kPhases[static_cast<int>(pod.view->phase)]},
               {"node", pod.view->node},
               {"terminating", pod.view->deleting}};
  if (pod.view->exit_code) json["exitCode"] = *pod.view->exit_code;
  if (!pod.view->reason.empty()) json["reason"] = pod.view->reason;
  return json;
}

}  // namespace muster::control
