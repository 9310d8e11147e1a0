// Waits until it is told to end, and reaps. It is the first process of each node and of each pod.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void End(int number) {
  (void)number;
  _exit(0);
}

static void Reap(int number) {
  (void)number;
  while (waitpid(-1, 0, WNOHANG) > 0) continue;
}

int main(void) {
  signal(SIGINT, End);
  signal(SIGTERM, End);
  signal(SIGCHLD, Reap);
  while (1) pause();
}
