/* Operations with a root, each root in turn, in place and not; and all-to-all with counts, alone and as a batch. */
#include "harness.h"

#define COUNT 3001
#define MOST 8

static int rank, size;
static mcclComm_t comm;
static musaStream_t stream;
static float *send, *recv;

static void done(void) { MUSA(musaStreamSynchronize(stream)); }

static void reduce(int root) {
  fill(send, COUNT, (float)(rank + 1));
  fill(recv, COUNT, -1);
  MCCL(mcclReduce(send, rank == root ? recv : NULL, COUNT, mcclFloat, mcclSum, root, comm, stream));
  done();
  expect(recv, COUNT, rank == root ? triangle(size) : -1, "reduce");
  MCCL(mcclReduce(send, send, COUNT, mcclFloat, mcclMax, root, comm, stream));
  done();
  expect(send, COUNT, rank == root ? (float)size : (float)(rank + 1), "reduce in place");
}

static void broadcast(int root) {
  fill(send, COUNT, (float)(10 * root + rank));
  MCCL(mcclBroadcast(rank == root ? send : NULL, recv, COUNT, mcclFloat, root, comm, stream));
  done();
  expect(recv, COUNT, (float)(11 * root), "broadcast");
  MCCL(mcclBcast(send, COUNT, mcclFloat, root, comm, stream));
  done();
  expect(send, COUNT, (float)(11 * root), "bcast");
}

static void gather_scatter(int root) {
  int r;
  fill(send, COUNT, (float)(rank + 3));
  MCCL(mcclGather(send, rank == root ? recv : NULL, COUNT, mcclFloat, root, comm, stream));
  done();
  for (r = 0; rank == root && r < size; r++) expect(recv + r * COUNT, COUNT, (float)(r + 3), "gather");
  for (r = 0; r < size; r++) fill(send + r * COUNT, COUNT, (float)(100 * root + r));
  MCCL(mcclScatter(rank == root ? send : NULL, recv, COUNT, mcclFloat, root, comm, stream));
  done();
  expect(recv, COUNT, (float)(100 * root + rank), "scatter");
}

/* How many elements rank a sends to rank b, and where they begin: a triangle with holes. */
static size_t amount(int a, int b, int batch) { return a == b ? 0 : (size_t)(1000 * a + 10 * b + batch); }
static size_t begin_of(int a, int b, int batch) {
  size_t at = 0;
  int k;
  for (k = 0; k < b; k++) at += amount(a, k, batch) + 3;
  return at;
}

static void vectors(int batches) {
  static size_t sendcounts[2 * MOST], recvcounts[2 * MOST], rdispls[2 * MOST], sdispls[2 * MOST * MOST];
  void *sends[2], *recvs[2];
  mcclDataType_t types[2] = {mcclFloat, mcclFloat};
  size_t room = 0;
  int b, r, s;
  for (b = 0; b < 2; b++) {
    size_t at = 0;
    for (r = 0; r < size; r++) {
      sendcounts[b * size + r] = amount(rank, r, b);
      recvcounts[b * size + r] = amount(r, rank, b);
      rdispls[b * size + r] = at;
      at += amount(r, rank, b) + 1;
      for (s = 0; s < size; s++) sdispls[(b * size + s) * size + r] = begin_of(s, r, b);
    }
    room = begin_of(rank, size, b) > room ? begin_of(rank, size, b) : room;
    room = at > room ? at : room;
  }
  for (b = 0; b < 2; b++) {
    float *from = device_floats(room), *to = device_floats(room);
    for (r = 0; r < size; r++)
      fill(from + begin_of(rank, r, b), amount(rank, r, b), (float)(100 * b + 10 * rank + r));
    fill(to, room, -1);
    sends[b] = from;
    recvs[b] = to;
  }
  if (batches == 2)
    MCCL(mcclBatchAllToAllv(sends, sendcounts, sdispls, recvs, recvcounts, rdispls, types, 2, comm, stream));
  else
    MCCL(mcclAllToAllv(sends[0], sendcounts, sdispls, recvs[0], recvcounts, rdispls, mcclFloat, comm, stream));
  done();
  for (b = 0; b < batches; b++)
    for (r = 0; r < size; r++) {
      float *to = (float *)recvs[b] + rdispls[b * size + r];
      expect(to, amount(r, rank, b), (float)(100 * b + 10 * r + rank), "all-to-all with counts");
      expect(to + amount(r, rank, b), 1, -1, "the gap behind");
    }
  for (b = 0; b < 2; b++) {
    MUSA(musaFree(sends[b]));
    MUSA(musaFree(recvs[b]));
  }
}

int main(void) {
  int root;
  rank = team_rank();
  size = team_size();
  comm = join("rooted");
  MUSA(musaStreamCreate(&stream));
  send = device_floats((size_t)COUNT * size);
  recv = device_floats((size_t)COUNT * size);
  for (root = 0; root < size; root++) {
    step("reduce");
    reduce(root);
    step("broadcast");
    broadcast(root);
    step("gather and scatter");
    gather_scatter(root);
    printf("root %d: reduce, broadcast, bcast, gather, scatter\n", root);
  }
  step("vectors");
  vectors(1);
  printf("all-to-all with counts\n");
  vectors(2);
  printf("a batch of two\n");
  MCCL(mcclCommDestroy(comm));
  return 0;
}
