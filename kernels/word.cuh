// Word types by size, and copies of words between global and shared memory.
#pragma once

// Bytes of the words that a kernel family is compiled for.
#ifndef WORD
#define WORD 4
#endif

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

// Enumerators, because constants would leave variables in the compiled code.
enum : u32 { kWarp = 32, kWholeWarp = 0xffffffffu };

template <int Bytes> struct WordOf;
template <> struct WordOf<1> { using type = u8; };
template <> struct WordOf<2> { using type = u16; };
template <> struct WordOf<4> { using type = u32; };
template <> struct WordOf<8> { using type = uint2; };
template <> struct WordOf<16> { using type = uint4; };
template <int Bytes> using Word = typename WordOf<Bytes>::type;

// Cache policy of a copy from global to shared memory. `kParts` caches in L1. `kWholeLines` caches in L1 and prefetches
// 128 bytes to L2. `kOnce` bypasses L1. `kTwoLines` bypasses L1 and prefetches 256 bytes to L2.
enum Reuse { kParts, kWholeLines, kOnce, kTwoLines };
// Copies 4, 8 or 16 bytes from global to shared memory asynchronously, not through registers. Both addresses must be
// multiples of the size.
template <int Bytes, Reuse Line = kParts> __device__ __forceinline__ void copy_async(void *shared, const void *global) {
    static_assert(Bytes == 16 || (Line < kOnce && (Bytes == 4 || Bytes == 8)), "sizes of cp.async");
    const u32 to = u32(__cvta_generic_to_shared(shared));
    if constexpr (Line == kWholeLines)
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;"
                     ::"r"(to), "l"(__cvta_generic_to_global(global)), "n"(Bytes) : "memory");
    else if constexpr (Line == kTwoLines)
        asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], %2;"
                     ::"r"(to), "l"(__cvta_generic_to_global(global)), "n"(Bytes) : "memory");
    else if constexpr (Line == kOnce)
        asm volatile("cp.async.cg.shared.global [%0], [%1], %2;"
                     ::"r"(to), "l"(__cvta_generic_to_global(global)), "n"(Bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     ::"r"(to), "l"(__cvta_generic_to_global(global)), "n"(Bytes) : "memory");
}

// Copies the first `bytes` of `Bytes` bytes asynchronously, and fills the rest with zeros. 16-byte copies bypass L1.
template <int Bytes> __device__ __forceinline__ void copy_async_part(void *shared, const void *global, u32 bytes) {
    const u32 to = u32(__cvta_generic_to_shared(shared));
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;"
                     ::"r"(to), "l"(__cvta_generic_to_global(global)), "n"(Bytes), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     ::"r"(to), "l"(__cvta_generic_to_global(global)), "n"(Bytes), "r"(bytes) : "memory");
}

// Copies a word from global to shared memory: asynchronously if it has at least 4 bytes.
template <int Bytes> __device__ __forceinline__ void to_chip(void *shared, const void *global) {
    if constexpr (Bytes >= 4)
        copy_async<Bytes>(shared, global);
    else
        *(Word<Bytes> *)shared = *(const Word<Bytes> *)global;
}
// Copies a word from global to shared memory if `Load`, else from shared to global memory.
template <int Bytes, bool Load> __device__ __forceinline__ void move_word(void *shared, void *global) {
    if constexpr (Load)
        to_chip<Bytes>(shared, global);
    else
        *(Word<Bytes> *)global = *(const Word<Bytes> *)shared;
}
__device__ __forceinline__ void copy_async_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all committed groups of copies except the last.
__device__ __forceinline__ void copy_async_wait_but_last() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
