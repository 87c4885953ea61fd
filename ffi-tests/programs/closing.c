/* The library is opened, used, closed and opened again at run time. */
#include <dlfcn.h>
#include <musa_runtime.h>
#include <stdio.h>

typedef int (*init_all)(void **, int, const int *);
typedef int (*destroy)(void *);
typedef int (*all_reduce)(const void *, void *, size_t, int, int, void *, musaStream_t);

/* C has no cast from an object's address to a function's. */
static void find(void *library, const char *name, void *function) { *(void **)function = dlsym(library, name); }

int main(void) {
  int round, failed = 0;
  for (round = 0; round < 3; round++) {
    void *library = dlopen("libmccl.so.2", RTLD_NOW | RTLD_LOCAL), *comm = NULL, *memory = NULL;
    init_all make;
    destroy end;
    all_reduce sum;
    if (!library) return printf("%s\n", dlerror()), 1;
    find(library, "mcclCommInitAll", &make);
    find(library, "mcclCommDestroy", &end);
    find(library, "mcclAllReduce", &sum);
    failed += musaMalloc(&memory, 4096) != musaSuccess;
    failed += make(&comm, 1, NULL) != 0;
    failed += sum(memory, memory, 1024, 7, 0, comm, NULL) != 0;
    failed += musaDeviceSynchronize() != musaSuccess;
    failed += end(comm) != 0;
    failed += dlclose(library) != 0;
    failed += musaDeviceSynchronize() != musaSuccess;
    failed += musaFree(memory) != musaSuccess;
  }
  printf("%d rounds, %d failures\n", round, failed);
  return failed;
}
