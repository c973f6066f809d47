// Cubes whose axes go round: three tiles, each the next one's place, change places in one pass.
#pragma once
#include "micro.cuh"

struct CubeArgs {
    char *data;
    u64 batch_bytes; // from one cube to the next
    u32 side;        // of a cube, in elements: rows are whole vectors
    u32 across;      // tiles across a cube
    u32 orbits;      // blocks of a cube
    u32 group;       // tiles across a group
};
static_assert(sizeof(CubeArgs) == 32);

// Sum of the first m squares: orbits of a cube of m tiles a side, and those counted twice.
static __device__ u64 squares_to(u64 m) { return m * (m + 1) * (2 * m + 1) / 6; }

struct Place {
    u32 a, b, c;
};

// Of the three in an orbit the one that stands for it: its first number is least, and its second if the last is so too.
static __device__ bool stands(const Place &p) { return p.a <= p.b && (p.c > p.a || p.b == p.a); }

// The place that stands for an orbit, if the number has one. Counted by their first number, m^2 places have
// the m-th from the end.
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

// The tile that a block moves with the two others of its orbit, if it has one. Groups of tiles stand for their orbits, and
// a group's tiles go one soon after the other: then neighbours along each axis do, in all three groups.
static __device__ bool tile_of(const CubeArgs &a, u32 number, Place &p) {
    const u32 g = a.group, each = g * g * g, within = number % each;
    Place group;
    if (!orbit_of(number / each, (a.across + g - 1) / g, group)) return false;
    p = {group.a * g + within / (g * g), group.b * g + within / g % g, group.c * g + within % g};
    const bool diagonal = group.a == group.b && group.b == group.c;
    return p.a < a.across && p.b < a.across && p.c < a.across && (!diagonal || (p.a <= p.c && stands(p)));
}

// The next of the three places.
static __device__ Place next(const Place &p) { return {p.b, p.c, p.a}; }

// A tile on the diagonal stays where it is.
static __device__ bool has_others(const Place &p) { return p.a != p.b || p.b != p.c; }

static __device__ char *element(const CubeArgs &a, char *cube, u32 i, u32 j, u32 k) {
    return cube + ((u64(i) * a.side + j) * a.side + k) * WORD;
}
