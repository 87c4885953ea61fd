/* Four devices in one process: the same numbers whatever way the library uses the device runtime. */
#include <mccl.h>
#include <musa_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, COUNT = 6000 };

static mcclComm_t comms[RANKS];
static musaStream_t streams[RANKS];
static int *in[RANKS], *out[RANKS];

#define MUSA(call) check((int)(call), #call)
#define MCCL(call) check((int)(call), #call)
/* Calls of all ranks as one group. */
#define ALL(call) \
  MCCL(mcclGroupStart()); \
  for (r = 0; r < RANKS; r++) MCCL(call); \
  MCCL(mcclGroupEnd())

static void check(int code, const char *call) {
  if (code == 0) return;
  printf("%s: %d %s\n", call, code, mcclGetLastError(NULL));
  exit(1);
}

static void fill(int seed) {
  static int host[COUNT];
  int r, i;
  for (r = 0; r < RANKS; r++) {
    for (i = 0; i < COUNT; i++) host[i] = seed + 10 * r + i % 7;
    MUSA(musaMemcpy(in[r], host, sizeof host, musaMemcpyDefault));
    for (i = 0; i < COUNT; i++) host[i] = -1;
    MUSA(musaMemcpy(out[r], host, sizeof host, musaMemcpyDefault));
  }
}

static void show(const char *what) {
  static int host[COUNT];
  int r, i;
  printf("%s:", what);
  for (r = 0; r < RANKS; r++) {
    unsigned sum = 0;
    MUSA(musaStreamSynchronize(streams[r]));
    MUSA(musaMemcpy(host, out[r], sizeof host, musaMemcpyDefault));
    for (i = 0; i < COUNT; i++) sum = sum * 31 + (unsigned)host[i];
    printf(" %d/%08x", host[0], sum);
  }
  printf("\n");
}

static void collectives(void) {
  int r;
  size_t part = COUNT / RANKS;
  fill(1);
  ALL(mcclAllReduce(in[r], out[r], COUNT, mcclInt32, mcclSum, comms[r], streams[r]));
  show("all-reduce");
  fill(2);
  ALL(mcclReduce(in[r], out[r], COUNT, mcclInt32, mcclMax, 2, comms[r], streams[r]));
  show("reduce");
  fill(3);
  ALL(mcclBroadcast(in[r], out[r], COUNT, mcclInt32, 1, comms[r], streams[r]));
  show("broadcast");
  fill(4);
  ALL(mcclAllGather(in[r], out[r], part, mcclInt32, comms[r], streams[r]));
  show("all-gather");
  fill(5);
  ALL(mcclReduceScatter(in[r], out[r], part, mcclInt32, mcclAvg, comms[r], streams[r]));
  show("reduce-scatter");
  fill(6);
  MCCL(mcclGroupStart());
  for (r = 0; r < RANKS; r++) {
    MCCL(mcclSend(in[r], COUNT, mcclInt32, (r + 1) % RANKS, comms[r], streams[r]));
    MCCL(mcclRecv(out[r], COUNT, mcclInt32, (r + RANKS - 1) % RANKS, comms[r], streams[r]));
  }
  MCCL(mcclGroupEnd());
  show("ring of messages");
}

/* One group on two streams of each rank. */
static void two_streams(void) {
  musaStream_t second[RANKS];
  int r;
  fill(7);
  for (r = 0; r < RANKS; r++) {
    MUSA(musaSetDevice(r));
    MUSA(musaStreamCreate(&second[r]));
  }
  MCCL(mcclGroupStart());
  for (r = 0; r < RANKS; r++) {
    MCCL(mcclAllReduce(in[r], out[r], 100, mcclInt32, mcclSum, comms[r], streams[r]));
    MCCL(mcclAllReduce(in[r] + 100, out[r] + 100, 100, mcclInt32, mcclMin, comms[r], second[r]));
  }
  MCCL(mcclGroupEnd());
  for (r = 0; r < RANKS; r++) MUSA(musaStreamSynchronize(second[r]));
  show("two streams");
  for (r = 0; r < RANKS; r++) MUSA(musaStreamDestroy(second[r]));
}

/* A factor that lies on the device. */
static void factors(void) {
  mcclRedOp_t ops[RANKS];
  int *at[RANKS], r;
  fill(8);
  for (r = 0; r < RANKS; r++) {
    int factor = r + 1;
    MUSA(musaSetDevice(r));
    MUSA(musaMalloc((void **)&at[r], sizeof factor));
    MUSA(musaMemcpy(at[r], &factor, sizeof factor, musaMemcpyDefault));
    MCCL(mcclRedOpCreatePreMulSum(&ops[r], at[r], mcclInt32, mcclScalarDevice, comms[r]));
  }
  ALL(mcclAllReduce(in[r], out[r], COUNT, mcclInt32, ops[r], comms[r], streams[r]));
  show("factors");
  for (r = 0; r < RANKS; r++) {
    MCCL(mcclRedOpDestroy(ops[r], comms[r]));
    MUSA(musaFree(at[r]));
  }
}

static void graphs(void) {
  musaGraph_t graph[RANKS];
  musaGraphExec_t run[RANKS];
  int r, round;
  for (r = 0; r < RANKS; r++) {
    MUSA(musaSetDevice(r));
    MUSA(musaStreamBeginCapture(streams[r], musaStreamCaptureModeThreadLocal));
  }
  ALL(mcclAllReduce(in[r], out[r], COUNT, mcclInt32, mcclSum, comms[r], streams[r]));
  ALL(mcclAllReduce(out[r], out[r], COUNT, mcclInt32, mcclSum, comms[r], streams[r]));
  for (r = 0; r < RANKS; r++) {
    MUSA(musaStreamEndCapture(streams[r], &graph[r]));
    MUSA(musaGraphInstantiateWithFlags(&run[r], graph[r], 0));
    MUSA(musaGraphDestroy(graph[r]));
  }
  for (round = 0; round < 3; round++) {
    fill(20 + round);
    for (r = 0; r < RANKS; r++) MUSA(musaGraphLaunch(run[r], streams[r]));
    /* Behind the launch, without waiting for it. */
    ALL(mcclAllReduce(out[r], out[r], COUNT, mcclInt32, mcclMax, comms[r], streams[r]));
    show("graph");
  }
  for (r = 0; r < RANKS; r++) MUSA(musaGraphExecDestroy(run[r]));
}

int main(void) {
  int r;
  MCCL(mcclCommInitAll(comms, RANKS, NULL));
  for (r = 0; r < RANKS; r++) {
    MUSA(musaSetDevice(r));
    MUSA(musaStreamCreate(&streams[r]));
    MUSA(musaMalloc((void **)&in[r], COUNT * sizeof(int)));
    MUSA(musaMalloc((void **)&out[r], COUNT * sizeof(int)));
  }
  collectives();
  two_streams();
  factors();
  graphs();
  for (r = 0; r < RANKS; r++) MCCL(mcclCommDestroy(comms[r]));
  return 0;
}
