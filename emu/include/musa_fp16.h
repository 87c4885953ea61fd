/* 16-bit IEEE 754 floats for the host: storage, and conversions that round to nearest even. */
#ifndef MUSA_FP16_H
#define MUSA_FP16_H

#include <string.h>

typedef struct __half_raw {
    unsigned short x;
} __half_raw;

static inline unsigned short musa_half_bits(float value) {
    unsigned int x, sign, mantissa, rest, half_way;
    int exponent, shift;
    memcpy(&x, &value, sizeof x);
    sign = (x >> 16) & 0x8000u;
    x &= 0x7fffffffu;
    if (x > 0x7f800000u) {
        return (unsigned short)(sign | 0x7e00u | ((x >> 13) & 0x3ffu));
    }
    if (x >= 0x477ff000u) { /* rounds to infinity */
        return (unsigned short)(sign | 0x7c00u);
    }
    exponent = (int)(x >> 23) - 112;
    if (exponent > 0) {
        /* The carry of the rounding may run into the exponent, as it should. */
        return (unsigned short)(sign | (((x + 0xfffu + ((x >> 13) & 1u)) >> 13) - (112u << 10)));
    }
    if (exponent < -10) {
        return (unsigned short)sign;
    }
    mantissa = (x & 0x7fffffu) | 0x800000u;
    shift = 14 - exponent;
    rest = mantissa & ((1u << shift) - 1u);
    half_way = 1u << (shift - 1);
    mantissa >>= shift;
    if (rest > half_way || (rest == half_way && (mantissa & 1u))) {
        mantissa++;
    }
    return (unsigned short)(sign | mantissa);
}

static inline float musa_half_value(unsigned short bits) {
    unsigned int sign = ((unsigned int)bits & 0x8000u) << 16, x = bits & 0x7fffu;
    float value;
    if (x >= 0x7c00u) {
        x = 0x7f800000u | ((x & 0x3ffu) << 13);
    } else if (x >= 0x400u) {
        x = (x << 13) + (112u << 23);
    } else { /* zero and subnormal numbers: multiples of two to the power of -24 */
        value = (float)x * 5.9604644775390625e-8f;
        memcpy(&x, &value, sizeof x);
    }
    x |= sign;
    memcpy(&value, &x, sizeof value);
    return value;
}

#ifdef __cplusplus
struct __half {
    __half() = default;
    __half(float value) : x(musa_half_bits(value)) {}
    __half(const __half_raw &raw) : x(raw.x) {}
    operator float() const { return musa_half_value(x); }
    operator __half_raw() const {
        __half_raw raw;
        raw.x = x;
        return raw;
    }

private:
    unsigned short x;
};
typedef __half half;

static inline __half __float2half(float value) { return __half(value); }
static inline float __half2float(__half value) { return static_cast<float>(value); }
#else
typedef __half_raw __half;
typedef __half half;

static inline __half __float2half(float value) {
    __half result;
    result.x = musa_half_bits(value);
    return result;
}

static inline float __half2float(__half value) { return musa_half_value(value.x); }
#endif

#endif
