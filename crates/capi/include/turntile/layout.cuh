/* turntile: where fields of records lie, for kernels that are written once and compiled for any layout.
 *
 *     template <class Layout> __global__ void step(float *cells, Layout layout) {
 *         const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
 *         if (i < layout.n) cells[layout.at(i, 2)] *= 0.5f;
 *     }
 *     step<<<blocks, threads>>>(cells, turntile::asta<19, 32>{n});
 *
 * A layout is made of the number of records, without which the last tile of ASTA, which may be shorter, is not found. Fields
 * of one type count in elements: aos<N>, soa<N>, asta<N, T> of N fields. Others count in bytes: aos_of, soa_of, asta_of of
 * fields<sizes...>, in the order of their columns; gaps that alignment leaves are fields too, the last ones. Where a structure
 * has its fields in another order, or gaps, aos_of takes places<offsets...> beside them. T is a power of two, for shifts and masks.
 *
 * A grid whose dimensions are cut into strips and permuted is a flattening of parts, the outermost first. A part is strip_of a
 * dimension: its index divided by Over, modulo Strip; without Strip the rest of the index, or all of it. For strips of 32 rows
 * and 128 columns of float[ny][nx][4]:
 *
 *     turntile::flattening<strip_of<0, 32>, strip_of<1, 128>, strip_of<2>, strip_of<0, 1, 32>, strip_of<1, 1, 128>> grid{{ny, nx, 4}};
 *     cells[grid.at(j, i, f)] = 0;
 *
 * The same formulas as `turntile::layout::Relayout::offset` and `Flattening::offset` of the Rust library. C++17, on the host and on the device; it
 * includes nothing. */
#ifndef TURNTILE_LAYOUT_CUH
#define TURNTILE_LAYOUT_CUH

#ifdef __CUDACC__
#define TURNTILE_HD __host__ __device__
#else
#define TURNTILE_HD
#endif

namespace turntile {

using size_t = decltype(sizeof(0));

/* Fields of so many bytes each, in the order of their columns. */
template <size_t... Bytes> struct fields {
    static_assert(sizeof...(Bytes) > 0 && ((Bytes > 0) && ...), "every field has a byte");
    static constexpr size_t bytes = (Bytes + ...);

    TURNTILE_HD static constexpr size_t size(size_t f) {
        size_t found = 0, k = 0;
        ((found = k++ == f ? Bytes : found), ...);
        return found;
    }
    /* Bytes of the fields before field f. */
    TURNTILE_HD static constexpr size_t begin(size_t f) {
        size_t sum = 0, k = 0;
        ((sum += k++ < f ? Bytes : 0), ...);
        return sum;
    }
};

/* N fields of one element each. */
template <size_t N> struct elements {
    static_assert(N > 0, "a record has a field");
    static constexpr size_t bytes = N;

    TURNTILE_HD static constexpr size_t size(size_t) { return 1; }
    TURNTILE_HD static constexpr size_t begin(size_t f) { return f; }
};

/* Where fields lie in a structure, in the order of their columns. */
template <size_t... Offsets> struct places {
    TURNTILE_HD static constexpr size_t begin(size_t f) {
        size_t found = 0, k = 0;
        ((found = k++ == f ? Offsets : found), ...);
        return found;
    }
};

/* Array of structures: record after record. */
template <class Fields, class Places = Fields> struct aos_of {
    size_t n;

    TURNTILE_HD constexpr size_t at(size_t i, size_t f) const { return i * Fields::bytes + Places::begin(f); }
};

/* Structure of arrays: field after field. */
template <class Fields> struct soa_of {
    size_t n;

    TURNTILE_HD constexpr size_t at(size_t i, size_t f) const { return n * Fields::begin(f) + i * Fields::size(f); }
};

/* Array of structures of tiled arrays: tiles of T records, field after field in each; the last may be shorter. */
template <class Fields, size_t T> struct asta_of {
    static_assert(T > 0 && (T & (T - 1)) == 0, "T is a power of two");
    size_t n;

    TURNTILE_HD constexpr size_t at(size_t i, size_t f) const {
        const size_t within = i & (T - 1), first = i - within, held = n - first < T ? n - first : T;
        return first * Fields::bytes + held * Fields::begin(f) + within * Fields::size(f);
    }
};

/* A part of dimension Dim: its index over Over, modulo Strip; 0 is no strip, but what is left. */
template <size_t Dim, size_t Over = 1, size_t Strip = 0> struct strip_of {
    static_assert(Over > 0, "a strip has an index");
    static constexpr size_t dim = Dim;

    TURNTILE_HD static constexpr size_t extent(size_t dim_extent) {
        return Strip > 0 ? Strip : dim_extent / Over + (dim_extent % Over > 0);
    }
    TURNTILE_HD static constexpr size_t at(size_t index) { return Strip > 0 ? index / Over % Strip : index / Over; }
};

/* Dimensions up to the last one that there is a part of. */
template <size_t... Dims> TURNTILE_HD constexpr size_t rank_of() {
    size_t rank = 0;
    ((rank = Dims < rank ? rank : Dims + 1), ...);
    return rank;
}

/* Dimensions in parts, the last one innermost. */
template <class... Parts> struct flattening {
    static constexpr size_t rank = rank_of<Parts::dim...>();
    size_t dims[rank];

    /* Elements that the grid takes. */
    TURNTILE_HD constexpr size_t span() const { return (Parts::extent(dims[Parts::dim]) * ... * size_t(1)); }
    /* Where the element of an index lies. */
    template <class... Index> TURNTILE_HD constexpr size_t at(Index... indices) const {
        static_assert(sizeof...(Index) == rank, "an index a dimension");
        const size_t index[] = {size_t(indices)...};
        size_t offset = 0;
        ((offset = offset * Parts::extent(dims[Parts::dim]) + Parts::at(index[Parts::dim])), ...);
        return offset;
    }
};

template <size_t N> using aos = aos_of<elements<N>>;
template <size_t N> using soa = soa_of<elements<N>>;
template <size_t N, size_t T> using asta = asta_of<elements<N>, T>;

} // namespace turntile

#undef TURNTILE_HD
#endif
