// The program of the test image.
//   /greeter serve PORT NAME       answers every connection with "hello from NAME" and says so
//   /greeter ask ADDRESS PORT      prints the answer to an HTTP request; an address is numeric
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int Fail(const char* what) {
  perror(what);
  return 1;
}

static struct sockaddr_in Address(const char* host, const char* port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(port))};
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

static int Serve(const char* port, const char* name) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  const struct sockaddr_in address = Address("0.0.0.0", port);
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  if (bind(server, (const struct sockaddr*)&address, sizeof(address)) != 0) return Fail("bind");
  if (listen(server, 16) != 0) return Fail("listen");
  printf("%s serves\n", name);
  fflush(stdout);
  while (1) {
    const int client = accept(server, NULL, NULL);
    if (client < 0) return Fail("accept");
    dprintf(client, "hello from %s\n", name);
    shutdown(client, SHUT_WR);
    char ignored[512];
    while (read(client, ignored, sizeof(ignored)) > 0) continue;
    close(client);
  }
}

static int Ask(const char* host, const char* port) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_in address = Address(host, port);
  alarm(10);
  if (connect(server, (const struct sockaddr*)&address, sizeof(address)) != 0)
    return Fail("connect");
  dprintf(server, "GET / HTTP/1.0\r\n\r\n");
  char block[4096];
  for (ssize_t got = 0; (got = read(server, block, sizeof(block))) > 0;) {
    fwrite(block, 1, (size_t)got, stdout);
  }
  return 0;
}

int main(int count, char** arguments) {
  signal(SIGTERM, _exit);
  if (count == 4 && strcmp(arguments[1], "serve") == 0) return Serve(arguments[2], arguments[3]);
  if (count == 4 && strcmp(arguments[1], "ask") == 0) return Ask(arguments[2], arguments[3]);
  fprintf(stderr, "usage: greeter serve PORT NAME | greeter ask ADDRESS PORT\n");
  return 2;
}
