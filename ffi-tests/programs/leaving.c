/* Processes that go without a word: the program ends while its communicator lives (LEAVE=exit), children are forked before the
 * first call (LEAVE=fork), a rank is killed while others wait for it (LEAVE=killed), a rank sends and is gone before the other
 * receives (LEAVE=sent). */
#include <sys/wait.h>
#include "harness.h"

#define COUNT 10000

static int work(mcclComm_t comm, float *buffer, musaStream_t stream) {
  fill(buffer, COUNT, 1);
  if (mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclSum, comm, stream) != mcclSuccess) return 0;
  return musaStreamSynchronize(stream) == musaSuccess;
}

int main(void) {
  const char *leave = getenv("LEAVE");
  mcclComm_t comm;
  mcclResult_t state = mcclSuccess;
  musaStream_t stream;
  float *buffer;
  pid_t child;

  if (strcmp(leave, "fork") == 0) {
    int status = -1;
    child = fork();
    CHECK(child >= 0);
    if (child > 0) {
      CHECK(waitpid(child, &status, 0) == child);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
    }
  }
  comm = join("leaving");
  MUSA(musaStreamCreate(&stream));
  buffer = device_floats(COUNT);
  CHECK(work(comm, buffer, stream));
  expect(buffer, COUNT, (float)team_size(), "all-reduce");
  if (strcmp(leave, "sent") == 0) {
    fill(buffer, 10, 4);
    if (team_rank() == 1) {
      MCCL(mcclSend(buffer, 10, mcclFloat, 0, comm, stream));
    } else {
      usleep(500000);
      fill(buffer, 10, 0);
      MCCL(mcclRecv(buffer, 10, mcclFloat, 1, comm, stream));
    }
    MUSA(musaStreamSynchronize(stream));
    expect(buffer, 10, 4, "message");
  }
  if (strcmp(leave, "killed") != 0) {
    printf("leaves a communicator behind\n");
    return 0;
  }
  step("ready");
  if (team_rank() == 1) {
    for (;;) usleep(100000);
  }
  while (work(comm, buffer, stream)) continue;
  while (state == mcclSuccess) MCCL(mcclCommGetAsyncError(comm, &state));
  printf("state %d\n", (int)state);
  fprintf(stderr, "%s\n", mcclGetLastError(comm));
  MCCL(mcclCommAbort(comm));
  return 0;
}
