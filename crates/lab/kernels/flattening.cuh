// Offsets of the elements of a grid whose dimensions are cut into strips and permuted: a flattening of parts, the outermost
// first. A part is strip_of a dimension: its index divided by Over, modulo Strip; without Strip the rest of the index, or all
// of it. For strips of 32 rows and 128 columns of float[ny][nx][4]:
//
//     flattening<strip_of<0, 32>, strip_of<1, 128>, strip_of<2>, strip_of<0, 1, 32>, strip_of<1, 1, 128>> grid{{ny, nx, 4}};
//     cells[grid.at(j, i, f)] = 0;
//
// The formulas are those of `Flattening::offset` in crates/lab/src/layout/flattening.rs. C++17, on the host and on the device;
// it includes nothing.
#pragma once

#ifdef __CUDACC__
#define TURNTILE_HD __host__ __device__
#else
#define TURNTILE_HD
#endif

namespace turntile {

using size_t = decltype(sizeof(0));

/* Part of dimension Dim: its index divided by Over, modulo Strip. Strip 0: not reduced. */
template <size_t Dim, size_t Over = 1, size_t Strip = 0> struct strip_of {
    static_assert(Over > 0, "a strip has an index");
    static constexpr size_t dim = Dim;

    TURNTILE_HD static constexpr size_t extent(size_t dim_extent) {
        return Strip > 0 ? Strip : dim_extent / Over + (dim_extent % Over > 0);
    }
    TURNTILE_HD static constexpr size_t at(size_t index) { return Strip > 0 ? index / Over % Strip : index / Over; }
};

/* Returns the number of dimensions: 1 plus the largest of Dims. */
template <size_t... Dims> TURNTILE_HD constexpr size_t rank_of() {
    size_t rank = 0;
    ((rank = Dims < rank ? rank : Dims + 1), ...);
    return rank;
}

/* Grid whose dimensions are cut into parts, innermost part last. */
template <class... Parts> struct flattening {
    static constexpr size_t rank = rank_of<Parts::dim...>();
    size_t dims[rank];

    /* Returns the number of elements, including padding. */
    TURNTILE_HD constexpr size_t span() const { return (Parts::extent(dims[Parts::dim]) * ... * size_t(1)); }
    /* Returns the offset of the element at an index. */
    template <class... Index> TURNTILE_HD constexpr size_t at(Index... indices) const {
        static_assert(sizeof...(Index) == rank, "an index a dimension");
        const size_t index[] = {size_t(indices)...};
        size_t offset = 0;
        ((offset = offset * Parts::extent(dims[Parts::dim]) + Parts::at(index[Parts::dim])), ...);
        return offset;
    }
};

} // namespace turntile

#undef TURNTILE_HD
