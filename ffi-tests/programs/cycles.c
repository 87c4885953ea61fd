/* Many communicators one after the other: descriptors, threads and memory stay where they are. One process with two ranks, or a
 * team of processes. */
#include <dirent.h>
#include "harness.h"

#define CYCLES 300
#define COUNT 50000

static int entries(const char *folder) {
  DIR *directory = opendir(folder);
  int count = 0;
  if (!directory) stop("entries", __LINE__, folder, "cannot be read");
  while (readdir(directory)) count++;
  closedir(directory);
  return count;
}

static long resident_kib(void) {
  long total, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) stop("statm", __LINE__, "cannot be read", "");
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* One communicator's life; two ranks by one thread, or this process's rank of the team. */
static void cycle(int number, float *buffers[2], musaStream_t streams[2]) {
  mcclComm_t comms[2];
  char name[32];
  int i, ranks = team_size() == 1 ? 2 : 1, size = team_size() == 1 ? 2 : team_size();
  if (team_size() == 1) {
    MCCL(mcclCommInitAll(comms, 2, NULL));
  } else {
    snprintf(name, sizeof name, "cycle%d", number);
    comms[0] = join(name);
  }
  for (i = 0; i < ranks; i++) fill(buffers[i], COUNT, 1);
  MCCL(mcclGroupStart());
  for (i = 0; i < ranks; i++)
    MCCL(mcclAllReduce(buffers[i], buffers[i], COUNT, mcclFloat, mcclSum, comms[i], streams[i]));
  MCCL(mcclGroupEnd());
  for (i = 0; i < ranks; i++) MUSA(musaStreamSynchronize(streams[i]));
  for (i = 0; i < ranks; i++) expect(buffers[i], COUNT, (float)size, "all-reduce");
  for (i = 0; i < ranks; i++) MCCL(mcclCommDestroy(comms[i]));
}

int main(void) {
  float *buffers[2];
  musaStream_t streams[2];
  int i, descriptors = 0, threads = 0;
  long memory = 0;
  for (i = 0; i < 2; i++) {
    MUSA(musaSetDevice(team_size() == 1 ? i : team_rank()));
    MUSA(musaStreamCreate(&streams[i]));
    buffers[i] = device_floats(COUNT);
  }
  for (i = 0; i < CYCLES; i++) {
    cycle(i, buffers, streams);
    if (i == CYCLES / 10) {
      usleep(200000);
      descriptors = entries("/proc/self/fd");
      threads = entries("/proc/self/task");
      memory = resident_kib();
    }
  }
  /* Threads and connections of the last communicator may take a moment to end. */
  for (i = 0; i < 500 && entries("/proc/self/fd") > descriptors + 3; i++) usleep(20000);
  for (i = 0; i < 500 && entries("/proc/self/task") > threads; i++) usleep(20000);
  fprintf(stderr, "descriptors %d to %d, threads %d to %d, memory %ld to %ld KiB\n", descriptors,
          entries("/proc/self/fd"), threads, entries("/proc/self/task"), memory, resident_kib());
  CHECK(entries("/proc/self/fd") <= descriptors + 3);
  CHECK(entries("/proc/self/task") <= threads);
  CHECK(resident_kib() <= memory + 16384);
  printf("%d communicators\n", CYCLES);
  return 0;
}
