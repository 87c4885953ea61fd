/* Graphs: capture runs nothing, launches see the buffers' contents of their time, eager calls go in between, and a graph
 * may live longer than its communicator. */
#include "harness.h"

#define DEVICES 2
#define COUNT 5003

static mcclComm_t comms[DEVICES];
static musaStream_t streams[DEVICES];
static float *send[DEVICES], *recv[DEVICES];

static void synchronise(void) {
  int i;
  for (i = 0; i < DEVICES; i++) MUSA(musaStreamSynchronize(streams[i]));
}

/* Records one sum, and a second one over its result when asked to, on every device. */
static void record(musaGraphExec_t *executables, musaGraph_t *graphs, int twice) {
  int i;
  for (i = 0; i < DEVICES; i++) fill(recv[i], COUNT, -7);
  for (i = 0; i < DEVICES; i++) MUSA(musaStreamBeginCapture(streams[i], musaStreamCaptureModeThreadLocal));
  MCCL(mcclGroupStart());
  for (i = 0; i < DEVICES; i++)
    MCCL(mcclAllReduce(send[i], recv[i], COUNT, mcclFloat, mcclSum, comms[i], streams[i]));
  MCCL(mcclGroupEnd());
  for (i = 0; twice && i < DEVICES; i++)
    MCCL(mcclAllReduce(recv[i], recv[i], COUNT, mcclFloat, mcclSum, comms[i], streams[i]));
  for (i = 0; i < DEVICES; i++) {
    MUSA(musaStreamEndCapture(streams[i], &graphs[i]));
    if (i % 2)
      MUSA(musaGraphInstantiateWithFlags(&executables[i], graphs[i], 0));
    else
      MUSA(musaGraphInstantiate(&executables[i], graphs[i], NULL, NULL, 0));
  }
  synchronise();
  for (i = 0; i < DEVICES; i++) expect(recv[i], COUNT, -7, "capture ran the operation");
}

static void launch(musaGraphExec_t *executables, float expected) {
  int i;
  for (i = 0; i < DEVICES; i++) MUSA(musaGraphLaunch(executables[i], streams[i]));
  synchronise();
  for (i = 0; i < DEVICES; i++) expect(recv[i], COUNT, expected, "launch");
}

static void eager(float expected) {
  int i;
  for (i = 0; i < DEVICES; i++)
    MCCL(mcclAllReduce(send[i], recv[i], COUNT, mcclFloat, mcclSum, comms[i], streams[i]));
  synchronise();
  for (i = 0; i < DEVICES; i++) expect(recv[i], COUNT, expected, "eager call");
}

static void set(float first, float second) {
  fill(send[0], COUNT, first);
  fill(send[1], COUNT, second);
}

static void forget(musaGraphExec_t *executables, musaGraph_t *graphs) {
  int i;
  for (i = 0; i < DEVICES; i++) {
    MUSA(musaGraphExecDestroy(executables[i]));
    MUSA(musaGraphDestroy(graphs[i]));
  }
}

int main(void) {
  musaGraphExec_t once[DEVICES], twice[DEVICES];
  musaGraph_t once_graphs[DEVICES], twice_graphs[DEVICES];
  int i, k, failed = 0;

  for (i = 0; i < DEVICES; i++) {
    MUSA(musaSetDevice(i));
    MUSA(musaStreamCreateWithFlags(&streams[i], musaStreamNonBlocking));
    send[i] = device_floats(COUNT);
    recv[i] = device_floats(COUNT);
  }
  MCCL(mcclCommInitAll(comms, DEVICES, NULL));

  set(1, 2);
  record(once, once_graphs, 0);
  for (k = 0; k < 100; k++) {
    set((float)k, (float)(2 * k));
    launch(once, (float)(3 * k));
    if (k % 10 == 3) eager((float)(3 * k));
  }
  printf("one graph: 100 launches with changing contents\n");

  set(1, 2);
  record(twice, twice_graphs, 1);
  for (k = 0; k < 50; k++) {
    set((float)k, 1);
    launch(k % 2 ? once : twice, k % 2 ? (float)(k + 1) : (float)(2 * (k + 1)));
    eager((float)(k + 1));
  }
  printf("two graphs and eager calls in turn\n");

  /* Many launches without a wait between them. */
  set(3, 4);
  for (k = 0; k < 200; k++)
    for (i = 0; i < DEVICES; i++) MUSA(musaGraphLaunch(once[i], streams[i]));
  synchronise();
  for (i = 0; i < DEVICES; i++) expect(recv[i], COUNT, 7, "200 launches in a row");
  printf("200 launches in a row\n");

  forget(once, once_graphs);
  eager(7);
  for (i = 0; i < DEVICES; i++) MCCL(mcclCommDestroy(comms[i]));
  printf("communicator destroyed before its second graph\n");

  for (i = 0; i < DEVICES; i++)
    if (musaGraphLaunch(twice[i], streams[i]) != musaSuccess || musaStreamSynchronize(streams[i]) != musaSuccess)
      failed++;
  printf("launches that fail then: %d\n", failed);
  forget(twice, twice_graphs);
  return 0;
}
