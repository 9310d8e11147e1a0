#ifndef MUSTER_BASE_EXIT_CODES_H_
#define MUSTER_BASE_EXIT_CODES_H_

// The exit codes of all muster programs. docs/states.md lists them; a test compares the two.
namespace muster {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,      // the operation failed; the message gives the reason, and a retry may help
  kExitBadInput = 2,    // flags, manifest, data or model are wrong; a retry cannot help
  kExitRefused = 3,     // another instance holds this place, or a newer term or round does
  kExitDiverged = 4,    // more steps were not finite than train.skippedSteps allows
  kExitDoesNotFit = 5,  // muster run: this machine can never hold the job's workers
  kExitStopped = 6,     // muster run: the job was stopped before its end, and can be resumed
  kExitStepsNotSaved = 7,  // muster run: the job was stopped, and steps of it could not be saved
  // 64..127 are reserved; today only this one of them is returned.
  kExitOrphaned = 75,  // a worker without an operator for elastic.orphanDeadline saved and ended
  kExitReservedFirst = 64,
  kExitReservedLast = 127,
  kExitSignalBase = 128,  // 128+signal: ended by that signal
};

}  // namespace muster

#endif  // MUSTER_BASE_EXIT_CODES_H_
