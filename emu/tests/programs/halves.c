/* Prints every 16-bit float with its value, and checks rounding around the middle of each neighbouring pair. */
#include <musa_bf16.h>
#include <musa_fp16.h>
#include <stdio.h>

static unsigned int bits_of(float value) {
    unsigned int bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float value_of(unsigned int bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int check(const char *name, float (*widen)(unsigned short), unsigned short (*narrow)(float),
                 unsigned int infinity) {
    unsigned int x;
    int wrong = 0;
    for (x = 0; x < 0x10000u; x++) {
        float value = widen((unsigned short)x);
        printf("%s %x %x\n", name, x, bits_of(value));
        if (value == value && narrow(value) != x) {
            fprintf(stderr, "%s %x comes back as %x\n", name, x, narrow(value));
            wrong++;
        }
        if ((x & 0x7fffu) + 1 < infinity) {
            /* The middle is exact in 32 bits except next to the smallest bfloat16 numbers, whose last bits it has too. */
            float next = widen((unsigned short)(x + 1));
            float middle = (float)(((double)value + (double)next) / 2);
            unsigned short even = (unsigned short)((x & 1u) ? x + 1 : x);
            if (narrow(middle) != even || narrow(value_of(bits_of(middle) - 1)) != x ||
                narrow(value_of(bits_of(middle) + 1)) != x + 1) {
                fprintf(stderr, "%s %x rounds wrongly\n", name, x);
                wrong++;
            }
        }
    }
    if (narrow(3.4e38f) != infinity || narrow(-3.4e38f) != (infinity | 0x8000u) || narrow(1e-45f) != 0) {
        /* The largest 32-bit numbers round to infinity in both formats. */
        wrong += name[0] == 'h' || narrow(value_of(0x7f7fffffu)) != infinity;
    }
    return wrong;
}

int main(void) {
    int wrong = check("half", musa_half_value, musa_half_bits, 0x7c00u);
    wrong += check("bfloat16", musa_bfloat16_value, musa_bfloat16_bits, 0x7f80u);
    return wrong != 0;
}
