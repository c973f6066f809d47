/* turntile: offsets of record fields, for kernels that are written once and compiled for any layout.
 *
 *     template <class Layout> __global__ void step(float *cells, Layout layout) {
 *         const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
 *         if (i < layout.n) cells[layout.at(i, 2)] *= 0.5f;
 *     }
 *     step<<<blocks, threads>>>(cells, turntile::asta<19, 32>{n});
 *
 * A layout stores the number of records, because the last tile of ASTA can be shorter. For N fields of one type, aos<N>,
 * soa<N> and asta<N, T> count in elements. For other fields, aos_of, soa_of and asta_of count in bytes and take
 * fields<sizes...> in the order of their columns; padding is a field too, after the others. If a structure has another order
 * of fields, or padding between them, aos_of also takes places<offsets...>. T is a power of two, for shifts and masks.
 *
 * The formulas are those of `turntile::layout::RecordConversion::offset` of the Rust library. C++17, for host and device code;
 * the header includes nothing. */
#ifndef TURNTILE_LAYOUT_CUH
#define TURNTILE_LAYOUT_CUH

#ifdef __CUDACC__
#define TURNTILE_HD __host__ __device__
#else
#define TURNTILE_HD
#endif

namespace turntile {

using size_t = decltype(sizeof(0));

/* Sizes of fields in bytes, in the order of their columns. */
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

/* Offsets of fields in a structure, in the order of their columns. */
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

template <size_t N> using aos = aos_of<elements<N>>;
template <size_t N> using soa = soa_of<elements<N>>;
template <size_t N, size_t T> using asta = asta_of<elements<N>, T>;

} // namespace turntile

#undef TURNTILE_HD
#endif
