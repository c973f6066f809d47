// Flags of PTTWAC: the bit of a super-element, and the memory order of flags and data.
//
// A flag says that a worker has *claimed* the content of a position. The content of position q moves to succ(q), so
// the worker that claims q is the only one that ever writes succ(q). A worker that carries content for p claims p. If
// it wins, it takes p's content and continues. If it loses, a *starter* has claimed p's content: the worker still
// stores what it carries, and its chain ends.
//
// The write of p must follow the read of p. A winner has read p itself. A loser relies on the starter's order: the
// starter reads p, executes a fence, then claims p. The loser's claim follows the starter's claim; the loser executes a
// fence, then writes p. The two fences and the two atomic operations between them order the starter's read before the
// loser's write. A starter that loses may have read what a winner is writing: it discards the value, and both accesses
// are relaxed, so the behaviour is defined.
#pragma once
#include "index.cuh"

// Returns the bit of position `p` within its word, which is word p / 32.
template <class I> static __device__ u32 flag_bit(I p) { return 1u << (u32(p) & 31u); }

// Flags of a whole launch, in global memory.
struct GlobalFlags {
    u32 *words;

    template <class I> __device__ bool taken(I p) const {
        u32 x;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(x) : "l"(__cvta_generic_to_global(words + (p >> 5))) : "memory");
        return (x & flag_bit(p)) != 0;
    }
    // Claims `p`. Returns whether this claim is the first.
    template <class I> __device__ bool claim(I p) const {
        u32 x;
        asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;"
                     : "=r"(x) : "l"(__cvta_generic_to_global(words + (p >> 5))), "r"(flag_bit(p)) : "memory");
        return (x & flag_bit(p)) == 0;
    }
    static __device__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
};
static_assert(sizeof(GlobalFlags) == 8);

// Flags of one instance, in shared memory.
struct SharedFlags {
    u32 *words;

    __device__ bool taken(u32 p) const { return (*(volatile u32 *)(words + (p >> 5)) & flag_bit(p)) != 0; }
    __device__ bool claim(u32 p) const { return (atomicOr_block(words + (p >> 5), flag_bit(p)) & flag_bit(p)) == 0; }
    static __device__ void fence() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
};
