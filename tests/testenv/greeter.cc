// The program of the test image.
//   /greeter serve PORT NAME       answers every connection with "hello from NAME" and says so
//   /greeter ask ADDRESS PORT      prints the answer to an HTTP request; an address is numeric
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

int Fail(const char* what) {
  perror(what);
  return 1;
}

sockaddr_in Address(const char* host, const char* port) {
  sockaddr_in address = {.sin_family = AF_INET,
                         .sin_port = htons(static_cast<unsigned short>(atoi(port)))};
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

int Serve(const char* port, const char* name) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  const sockaddr_in address = Address("0.0.0.0", port);
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  if (bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Fail("bind");
  }
  if (listen(server, 16) != 0) return Fail("listen");
  printf("%s serves\n", name);
  fflush(stdout);
  while (true) {
    const int client = accept(server, nullptr, nullptr);
    if (client < 0) return Fail("accept");
    dprintf(client, "hello from %s\n", name);
    shutdown(client, SHUT_WR);
    char ignored[512];
    while (read(client, ignored, sizeof(ignored)) > 0) continue;
    close(client);
  }
}

int Ask(const char* host, const char* port) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Address(host, port);
  alarm(10);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Fail("connect");
  }
  dprintf(server, "GET / HTTP/1.0\r\n\r\n");
  char block[4096];
  for (ssize_t got = 0; (got = read(server, block, sizeof(block))) > 0;) {
    fwrite(block, 1, static_cast<size_t>(got), stdout);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  signal(SIGTERM, _exit);
  const std::string_view command = count == 4 ? arguments[1] : "";
  if (command == "serve") return Serve(arguments[2], arguments[3]);
  if (command == "ask") return Ask(arguments[2], arguments[3]);
  fprintf(stderr, "usage: greeter serve PORT NAME | greeter ask ADDRESS PORT\n");
  return 2;
}
