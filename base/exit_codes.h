#ifndef MUSTER_BASE_EXIT_CODES_H_
#define MUSTER_BASE_EXIT_CODES_H_

// How every program of muster ends. docs/states.md lists them; a test compares.
namespace muster {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,      // tried and failed; the message says why, trying again may help
  kExitBadInput = 2,    // flags, manifest, data or model are wrong: trying again cannot help
  kExitRefused = 3,     // another instance has this place, or a newer term or round does
  kExitDiverged = 4,    // more steps were not finite than train.skippedSteps allows
  kExitDoesNotFit = 5,  // muster run: this machine can never hold the job's workers
  kExitStopped = 6,     // muster run: the job was stopped before its end, and can be resumed
  // 64..127 are reserved; of them only this one is returned today.
  kExitOrphaned = 75,  // a worker without an operator for elastic.orphanDeadline saved and ended
  kExitReservedFirst = 64,
  kExitReservedLast = 127,
  kExitSignalBase = 128,  // 128+signal: ended by that signal
};

}  // namespace muster

#endif  // MUSTER_BASE_EXIT_CODES_H_
