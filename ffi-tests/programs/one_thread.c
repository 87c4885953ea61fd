/* One thread drives several devices: communicators made at once and in a group, operations with and without a group. */
#include "harness.h"

#define DEVICES 4
#define COUNT 100003

static mcclComm_t comms[DEVICES], parents[DEVICES];
static musaStream_t streams[DEVICES];
static float *send[DEVICES], *recv[DEVICES];

static void all_reduce(int devices, int grouped, float expected, const char *what) {
  int i;
  for (i = 0; i < devices; i++) fill(recv[i], COUNT, -1);
  if (grouped) MCCL(mcclGroupStart());
  for (i = 0; i < devices; i++)
    MCCL(mcclAllReduce(send[i], recv[i], COUNT, mcclFloat, mcclSum, comms[i], streams[i]));
  if (grouped) MCCL(mcclGroupEnd());
  for (i = 0; i < devices; i++) MUSA(musaStreamSynchronize(streams[i]));
  for (i = 0; i < devices; i++) expect(recv[i], COUNT, expected, what);
}

static void destroy(int devices, const char *what) {
  int i;
  printf("%s\n", what);
  for (i = 0; i < devices; i++) MCCL(mcclCommDestroy(comms[i]));
}

int main(void) {
  int i, backwards[DEVICES] = {3, 2, 1, 0}, device;
  mcclUniqueId id;

  for (i = 0; i < DEVICES; i++) {
    MUSA(musaSetDevice(i));
    MUSA(musaStreamCreate(&streams[i]));
    send[i] = device_floats(COUNT);
    recv[i] = device_floats(COUNT);
    fill(send[i], COUNT, (float)(i + 1));
  }

  MCCL(mcclCommInitAll(comms, DEVICES, NULL));
  all_reduce(DEVICES, 1, triangle(DEVICES), "all at once, in a group");
  all_reduce(DEVICES, 0, triangle(DEVICES), "all at once, without a group");
  destroy(DEVICES, "made at once: a group, and no group");

  MCCL(mcclCommInitAll(comms, DEVICES, backwards));
  for (i = 0; i < DEVICES; i++) {
    MCCL(mcclCommMuDevice(comms[i], &device));
    CHECK(device == backwards[i]);
    MCCL(mcclCommCuDevice(comms[i], &device));
    CHECK(device == backwards[i]);
  }
  all_reduce(DEVICES, 1, triangle(DEVICES), "devices backwards");
  destroy(DEVICES, "devices backwards");

  MCCL(mcclGetUniqueId(&id));
  MCCL(mcclGroupStart());
  for (i = 0; i < DEVICES; i++) {
    MUSA(musaSetDevice(i));
    MCCL(mcclCommInitRank(&comms[i], DEVICES, id, i));
  }
  MCCL(mcclGroupEnd());
  all_reduce(DEVICES, 1, triangle(DEVICES), "one by one in a group");
  destroy(DEVICES, "made one by one in a group");

  MCCL(mcclCommInitAll(comms, 2, NULL));
  for (i = 0; i < 50; i++) all_reduce(2, 0, triangle(2), "two devices without a group");
  destroy(2, "two devices, 50 times without a group");

  /* Nested groups end with the outermost; an end without a start is refused. */
  MCCL(mcclCommInitAll(comms, 2, NULL));
  MCCL(mcclGroupStart());
  MCCL(mcclGroupStart());
  MCCL(mcclAllReduce(send[0], recv[0], COUNT, mcclFloat, mcclSum, comms[0], streams[0]));
  MCCL(mcclGroupEnd());
  MCCL(mcclAllReduce(send[1], recv[1], COUNT, mcclFloat, mcclSum, comms[1], streams[1]));
  MCCL(mcclGroupEnd());
  for (i = 0; i < 2; i++) MUSA(musaStreamSynchronize(streams[i]));
  for (i = 0; i < 2; i++) expect(recv[i], COUNT, triangle(2), "nested groups");
  destroy(2, "nested groups");

  /* All ranks of a split in one thread, in a group. */
  MCCL(mcclCommInitAll(parents, DEVICES, NULL));
  MCCL(mcclGroupStart());
  for (i = 0; i < DEVICES; i++) MCCL(mcclCommSplit(parents[i], i / 2, -i, &comms[i], NULL));
  MCCL(mcclGroupEnd());
  for (i = 0; i < DEVICES; i++) {
    MCCL(mcclCommUserRank(comms[i], &device));
    CHECK(device == 1 - i % 2);
    MCCL(mcclCommDestroy(parents[i]));
  }
  all_reduce(2, 1, triangle(2), "half of a split");
  destroy(DEVICES, "split in a group");
  printf("end without a start: %d\n", (int)mcclGroupEnd());
  return 0;
}
