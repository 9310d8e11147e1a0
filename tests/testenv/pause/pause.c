// The program of a pod's sandbox: it holds the pod's namespaces until it is told to end, and, as their first process,
// collects the children that the containers leave behind. Everything is handled between signals, never inside one.
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGINT);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGCHLD);
  // Signals that arrive from here on wait for sigwaitinfo.
  if (sigprocmask(SIG_BLOCK, &awaited, NULL) != 0) return 1;
  for (;;) {
    int signal = sigwaitinfo(&awaited, NULL);
    if (signal == SIGINT || signal == SIGTERM) return 0;
    if (signal < 0 && errno != EINTR) return 1;
    // One SIGCHLD may stand for several children.
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
  }
}
