// Cyclic permutation of a cube's axes. The three tiles of an orbit replace one another in one pass.
#pragma once
#include "micro.cuh"

struct CubeArgs {
    char *data;
    u64 batch_bytes; // from one cube to the next
    u32 side;        // side of a cube, in elements; rows are whole vectors
    u32 across;      // tiles across a cube
    u32 orbits;      // blocks (cube.cu) or clusters per cube
    u32 group;       // tiles across a group
};
static_assert(sizeof(CubeArgs) == 32);

// Returns the sum of the first m squares. It counts the orbits of m x m x m tiles, twice if two coordinates are
// minimal.
static __device__ u64 squares_to(u64 m) { return m * (m + 1) * (2 * m + 1) / 6; }

// Coordinates of a tile in a cube.
struct Place {
    u32 a, b, c;
};

// Returns whether `p` represents its orbit: `a` is the minimum, and if `c` equals it, so does `b`.
static __device__ bool stands(const Place &p) { return p.a <= p.b && (p.c > p.a || p.b == p.a); }

// Finds the place with this number, and returns whether it represents its orbit. Places whose `a` is minimal are
// numbered by `a`; m^2 of them have the m-th `a` from the end.
static __device__ bool orbit_of(u32 number, u32 across, Place &p) {
    const u64 behind = squares_to(across) - 1 - number;
    u32 m = u32(cbrtf(3.0f * float(behind)));
    while (squares_to(m) > behind) m--;
    while (squares_to(m + 1) <= behind) m++;
    // squares_to(m) <= behind < squares_to(m + 1)
    const u32 wide = m + 1, q = u32(squares_to(wide) - 1 - behind);
    p.a = across - wide;
    p.b = p.a + q / wide;
    p.c = p.a + q % wide;
    return stands(p);
}

// Finds the tile that a block moves with the two others of its orbit. Returns false if the number has none. Numbers run
// through one group of tiles after another, so that neighbours along every axis move at nearly the same time.
static __device__ bool tile_of(const CubeArgs &a, u32 number, Place &p) {
    const u32 g = a.group, each = g * g * g, within = number % each;
    Place group;
    if (!orbit_of(number / each, (a.across + g - 1) / g, group)) return false;
    p = {group.a * g + within / (g * g), group.b * g + within / g % g, group.c * g + within % g};
    const bool diagonal = group.a == group.b && group.b == group.c;
    return p.a < a.across && p.b < a.across && p.c < a.across && (!diagonal || (p.a <= p.c && stands(p)));
}

// Returns the next of the three places of an orbit.
static __device__ Place next(const Place &p) { return {p.b, p.c, p.a}; }

// Returns whether an orbit has three tiles. A tile on the diagonal is an orbit by itself.
static __device__ bool has_others(const Place &p) { return p.a != p.b || p.b != p.c; }

// Returns the address of element (i, j, k).
static __device__ char *element(const CubeArgs &a, char *cube, u32 i, u32 j, u32 k) {
    return cube + ((u64(i) * a.side + j) * a.side + k) * WORD;
}
