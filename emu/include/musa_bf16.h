/* bfloat16 floats for the host: storage, and conversions that round to nearest even. */
#ifndef MUSA_BF16_H
#define MUSA_BF16_H

#include <string.h>

typedef struct __mt_bfloat16_raw {
    unsigned short x;
} __mt_bfloat16_raw;

static inline unsigned short musa_bfloat16_bits(float value) {
    unsigned int x;
    memcpy(&x, &value, sizeof x);
    if ((x & 0x7fffffffu) > 0x7f800000u) {
        return (unsigned short)((x >> 16) | 0x40u);
    }
    return (unsigned short)((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

static inline float musa_bfloat16_value(unsigned short bits) {
    unsigned int x = (unsigned int)bits << 16;
    float value;
    memcpy(&value, &x, sizeof value);
    return value;
}

#ifdef __cplusplus
struct __mt_bfloat16 {
    __mt_bfloat16() = default;
    __mt_bfloat16(float value) : x(musa_bfloat16_bits(value)) {}
    __mt_bfloat16(const __mt_bfloat16_raw &raw) : x(raw.x) {}
    operator float() const { return musa_bfloat16_value(x); }
    operator __mt_bfloat16_raw() const {
        __mt_bfloat16_raw raw;
        raw.x = x;
        return raw;
    }

private:
    unsigned short x;
};
typedef __mt_bfloat16 mt_bfloat16;

static inline __mt_bfloat16 __float2bfloat16(float value) { return __mt_bfloat16(value); }
static inline float __bfloat162float(__mt_bfloat16 value) { return static_cast<float>(value); }
#else
typedef __mt_bfloat16_raw __mt_bfloat16;
typedef __mt_bfloat16 mt_bfloat16;

static inline __mt_bfloat16 __float2bfloat16(float value) {
    __mt_bfloat16 result;
    result.x = musa_bfloat16_bits(value);
    return result;
}

static inline float __bfloat162float(__mt_bfloat16 value) { return musa_bfloat16_value(value.x); }
#endif

#endif
