/* Prints what torchrun's environment says of this process; the only program of an image with musl. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  const char* names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  for (int i = 0; i < 4; ++i) {
    const char* value = getenv(names[i]);
    if (value == NULL) {
      fprintf(stderr, "%s is not set\n", names[i]);
      return 1;
    }
    printf("%s=%s%s", names[i], value, i < 3 ? " " : "\n");
  }
  return 0;
}
