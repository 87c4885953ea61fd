/* What the programs share: checked calls, this process's place among the ranks, its last step for the watchdog, exact data.
 * A team of processes finds its place in TEAM_RANK and TEAM_SIZE and meets in TEAM_FOLDER; without them it is one rank. */
#ifndef HARNESS_H
#define HARNESS_H

#include <mccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUSA(call)                                                                              \
  do {                                                                                          \
    musaError_t error_ = (call);                                                                \
    if (error_ != musaSuccess) stop(#call, __LINE__, musaGetErrorString(error_), "");           \
  } while (0)

#define MCCL(call)                                                                              \
  do {                                                                                          \
    mcclResult_t result_ = (call);                                                              \
    if (result_ != mcclSuccess)                                                                 \
      stop(#call, __LINE__, mcclGetErrorString(result_), mcclGetLastError(NULL));               \
  } while (0)

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) stop(#condition, __LINE__, "does not hold", mcclGetLastError(NULL));      \
  } while (0)

static inline void stop(const char *what, int line, const char *text, const char *detail) {
  fprintf(stderr, "line %d: %s: %s: %s\n", line, what, text, detail);
  fflush(NULL);
  _exit(1);
}

static inline int number_of(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static inline int team_rank(void) { return number_of("TEAM_RANK", 0); }
static inline int team_size(void) { return number_of("TEAM_SIZE", 1); }

static inline void team_path(char *path, size_t size, const char *name, int rank) {
  const char *folder = getenv("TEAM_FOLDER");
  snprintf(path, size, "%s/%s.%d", folder ? folder : "/tmp", name, rank);
}

/* Writes a file that others see whole or not at all. */
static inline void publish(const char *name, int rank, const void *bytes, size_t size) {
  char path[4096], fresh[4200];
  FILE *file;
  team_path(path, sizeof path, name, rank);
  snprintf(fresh, sizeof fresh, "%s.new", path);
  file = fopen(fresh, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) || rename(fresh, path))
    stop("publish", __LINE__, path, "cannot be written");
}

/* Waits for a published file; the watchdog ends a wait in vain. */
static inline void await(const char *name, int rank, void *bytes, size_t size) {
  char path[4096];
  FILE *file;
  team_path(path, sizeof path, name, rank);
  while (!(file = fopen(path, "rb"))) usleep(1000);
  if (fread(bytes, 1, size, file) != size) stop("await", __LINE__, path, "is too short");
  fclose(file);
}

/* What this rank does now; printed by the watchdog when the team stands still. */
static inline void step(const char *text) {
  if (getenv("TEAM_FOLDER")) publish("step", team_rank(), text, strlen(text));
}

/* Returns when all processes of the team have come to this place. */
static inline void meet(const char *place) {
  char byte = 0;
  int rank;
  step(place);
  publish(place, team_rank(), &byte, 1);
  for (rank = 0; rank < team_size(); rank++) await(place, rank, &byte, 1);
}

/* A unique id that rank 0 makes and every rank gets. */
static inline mcclUniqueId shared_id(const char *name) {
  mcclUniqueId id;
  if (team_rank() == 0) {
    MCCL(mcclGetUniqueId(&id));
    publish(name, 0, &id, sizeof id);
  }
  await(name, 0, &id, sizeof id);
  return id;
}

/* This process's rank of a communicator of the whole team, on a device of its own where there are enough. */
static inline mcclComm_t join(const char *name) {
  mcclComm_t comm = NULL;
  int devices = 0;
  step(name);
  MUSA(musaGetDeviceCount(&devices));
  MUSA(musaSetDevice(team_rank() % devices));
  MCCL(mcclCommInitRank(&comm, team_size(), shared_id(name), team_rank()));
  return comm;
}

static inline float *device_floats(size_t count) {
  void *at = NULL;
  MUSA(musaMalloc(&at, count * sizeof(float) + 16));
  return (float *)at;
}

static inline void fill(float *device, size_t count, float value) {
  float *host = (float *)malloc(count * sizeof(float) + 1);
  size_t i;
  for (i = 0; i < count; i++) host[i] = value;
  MUSA(musaMemcpy(device, host, count * sizeof(float), musaMemcpyHostToDevice));
  free(host);
}

static inline float at(const float *device, size_t index) {
  float value = 0;
  MUSA(musaMemcpy(&value, device + index, sizeof value, musaMemcpyDeviceToHost));
  return value;
}

/* Every one of the values is the expected one. */
static inline void expect(const float *device, size_t count, float value, const char *what) {
  float *host = (float *)malloc(count * sizeof(float) + 1);
  size_t i;
  char text[200];
  MUSA(musaMemcpy(host, device, count * sizeof(float), musaMemcpyDeviceToHost));
  for (i = 0; i < count; i++) {
    if (host[i] != value) {
      snprintf(text, sizeof text, "element %zu of %zu is %g, not %g", i, count, (double)host[i], (double)value);
      stop(what, __LINE__, text, mcclGetLastError(NULL));
    }
  }
  free(host);
}

/* The sum of 1 to n: what ranks that hold their number plus one add up to. */
static inline float triangle(int n) { return (float)(n * (n + 1) / 2); }

#endif
