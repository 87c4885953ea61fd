/* What the programs share. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call, expected)                                                                                        \
    do {                                                                                                             \
        int got_ = (int)(call);                                                                                      \
        if (got_ != (int)(expected)) {                                                                               \
            fprintf(stderr, "%s:%d: %s: %d, expected %d\n", __FILE__, __LINE__, #call, got_, (int)(expected));       \
            exit(1);                                                                                                 \
        }                                                                                                            \
    } while (0)
#define OK(call) CHECK(call, 0)
#define TRUE(condition) CHECK(!!(condition), 1)

#endif
