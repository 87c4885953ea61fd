/* Communicators out of a communicator: colours, keys, no colour, children of children; the parent stays usable. */
#include "harness.h"

#define COUNT 1001

static void sum(mcclComm_t comm, float value, float expected, const char *what) {
  musaStream_t stream;
  float *buffer = device_floats(COUNT);
  MUSA(musaStreamCreate(&stream));
  fill(buffer, COUNT, value);
  MCCL(mcclAllReduce(buffer, buffer, COUNT, mcclFloat, mcclSum, comm, stream));
  MUSA(musaStreamSynchronize(stream));
  expect(buffer, COUNT, expected, what);
  MUSA(musaFree(buffer));
  MUSA(musaStreamDestroy(stream));
}

static void tell(mcclComm_t comm, const char *what) {
  int rank = -1, size = -1;
  if (!comm) {
    printf("%s: none\n", what);
    return;
  }
  MCCL(mcclCommUserRank(comm, &rank));
  MCCL(mcclCommCount(comm, &size));
  printf("%s: rank %d of %d\n", what, rank, size);
}

int main(void) {
  int rank = team_rank(), size = team_size();
  mcclComm_t world = join("split"), half = NULL, backwards = NULL, some = (mcclComm_t)&rank, grandchild = NULL;
  mcclConfig_t config = MCCL_CONFIG_INITIALIZER;

  step("colours");
  MCCL(mcclCommSplit(world, rank % 2, 0, &half, NULL));
  tell(half, "even or odd");
  sum(half, (float)rank, rank % 2 ? 1 + 3 : 0 + 2, "even or odd");

  step("keys");
  MCCL(mcclCommSplit(world, 7, -rank, &backwards, NULL));
  tell(backwards, "backwards");
  sum(backwards, 1, (float)size, "backwards");

  step("no colour");
  config.splitShare = 1;
  MCCL(mcclCommSplit(world, rank == 2 ? MCCL_SPLIT_NOCOLOR : 0, 0, &some, &config));
  tell(some, "all but one");
  if (some) sum(some, 1, (float)(size - 1), "all but one");

  step("grandchild");
  MCCL(mcclCommSplit(half, 0, 1 - rank / 2, &grandchild, NULL));
  tell(grandchild, "grandchild");
  MCCL(mcclCommDestroy(half));
  sum(grandchild, 1, 2, "grandchild without its parent");
  sum(world, 1, (float)size, "world");

  MCCL(mcclCommDestroy(grandchild));
  MCCL(mcclCommDestroy(some));
  MCCL(mcclCommDestroy(world));
  sum(backwards, 1, (float)size, "child without its parent");
  MCCL(mcclCommDestroy(backwards));
  return 0;
}
