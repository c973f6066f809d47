/// @file turntile.hpp
/// turntile.h for C++17, with types, ownership and exceptions.
///
///     std::vector<float> matrix = {1, 2, 3, 4, 5, 6};        // or std::array, std::span, a pointer
///     turntile::transpose(matrix, 2, 3);                     // now 3 rows of 2
////
///     turntile::plan plan = turntile::plan::transposing<float>(300, 200, turntile::options().threads(2));
///     plan.execute(matrices);                                // any number of times
///
/// Elements are trivially copyable. Calls that fail throw turntile::error; the data are then as after
/// the calls of turntile.h.
#ifndef TURNTILE_HPP
#define TURNTILE_HPP

#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "turntile.h"

namespace turntile {

/// A failed call: status() and, in what(), the text.
class error : public std::runtime_error {
public:
    error(turntile_status status, const char *text) : std::runtime_error(text), status_(status) {}
    turntile_status status() const noexcept { return status_; }

private:
    turntile_status status_;
};

/// Throws error if `status` is not TURNTILE_SUCCESS.
inline void check(turntile_status status) {
    if (status != TURNTILE_SUCCESS)
        throw error(status, turntile_last_error());
}

/// A shape or axes.
using numbers = std::vector<std::size_t>;

namespace detail {
template <class T> constexpr void movable() {
    static_assert(std::is_trivially_copyable<T>::value, "elements are moved as bytes");
}

inline void same_length(const numbers &shape, const numbers &axes) {
    if (shape.size() != axes.size())
        throw error(TURNTILE_ERROR_ARGUMENT, "axes don't match the shape");
}

/// Element type of a contiguous container with a size: std::vector, std::array, std::span.
template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;

/// Returns a pointer to the first element, which must not be const.
template <class C> element<C> *written(C &data) {
    static_assert(!std::is_const<element<C>>::value, "const elements cannot be transposed in place");
    return std::data(data);
}

/// Checks that a container has the elements of its shape. If the product overflows, the C call reports it.
template <class C> void whole(const C &data, const numbers &shape) {
    std::size_t all = 1;
    for (std::size_t length : shape) {
        if (length != 0 && all > static_cast<std::size_t>(-1) / length)
            return;
        all *= length;
    }
    if (std::size(data) != all)
        throw error(TURNTILE_ERROR_LENGTH, ("the shape has " + std::to_string(all) + " elements, the container " +
                                            std::to_string(std::size(data))).c_str());
}
} // namespace detail

/// Transposes a row-major matrix in place.
template <class T> void transpose(T *data, std::size_t rows, std::size_t cols) {
    detail::movable<T>();
    check(turntile_transpose(data, rows, cols, sizeof(T)));
}

template <class C, class T = detail::element<C>> void transpose(C &&data, std::size_t rows, std::size_t cols) {
    detail::whole(data, {rows, cols});
    transpose<T>(detail::written(data), rows, cols);
}

/// Permutes the axes of a row-major array in place: result.shape[i] == shape[axes[i]].
template <class T> void permute(T *data, const numbers &shape, const numbers &axes) {
    detail::movable<T>();
    detail::same_length(shape, axes);
    check(turntile_permute(data, shape.size(), shape.data(), axes.data(), sizeof(T)));
}

template <class C, class T = detail::element<C>> void permute(C &&data, const numbers &shape, const numbers &axes) {
    detail::whole(data, shape);
    permute<T>(detail::written(data), shape, axes);
}

/// Reverses the given axes of a row-major array in place, as numpy.flip.
template <class T> void flip(T *data, const numbers &shape, const numbers &axes) {
    detail::movable<T>();
    std::uint64_t flipped = 0;
    for (std::size_t axis : axes) {
        if (axis >= shape.size() || axis >= TURNTILE_MAX_NDIM)
            throw error(TURNTILE_ERROR_ARGUMENT, "an axis to flip is not an axis of the shape");
        flipped |= std::uint64_t{1} << axis;
    }
    check(turntile_flip(data, shape.size(), shape.data(), flipped, sizeof(T)));
}

template <class C, class T = detail::element<C>> void flip(C &&data, const numbers &shape, const numbers &axes) {
    detail::whole(data, shape);
    flip<T>(detail::written(data), shape, axes);
}

/// Rotates a row-major array in place by k quarter turns from axis `from` towards axis `to`, as numpy.rot90.
template <class T> void rot90(T *data, const numbers &shape, int k = 1, std::size_t from = 0, std::size_t to = 1) {
    detail::movable<T>();
    check(turntile_rot90(data, shape.size(), shape.data(), k, from, to, sizeof(T)));
}

template <class C, class T = detail::element<C>>
void rot90(C &&data, const numbers &shape, int k = 1, std::size_t from = 0, std::size_t to = 1) {
    detail::whole(data, shape);
    rot90<T>(detail::written(data), shape, k, from, to);
}

/// Writes the transpose of `src` to `dst`, which must not overlap.
template <class T> void transpose_copy(const T *src, T *dst, std::size_t rows, std::size_t cols) {
    detail::movable<T>();
    check(turntile_transpose_copy(src, dst, rows, cols, sizeof(T)));
}

template <class Src, class Dst, class T = detail::element<Dst>, class = detail::element<const Src>>
void transpose_copy(const Src &src, Dst &&dst, std::size_t rows, std::size_t cols) {
    detail::whole(src, {rows, cols});
    detail::whole(dst, {rows, cols});
    transpose_copy<T>(std::data(src), detail::written(dst), rows, cols);
}

/// Options of a plan; turntile_desc documents them.
class options {
public:
    options &batch(std::size_t count) { return desc_.batch = count, *this; }
    options &threads(std::size_t count) { return desc_.threads = count, *this; }
    options &workspace_limit(std::size_t bytes) { return desc_.workspace_limit = bytes, *this; }
    options &leading(std::size_t lda, std::size_t ldb) { return desc_.lda = lda, desc_.ldb = ldb, *this; }
    options &out_of_place() { return desc_.flags |= TURNTILE_OUT_OF_PLACE, *this; }
    /// Plans for a GPU.
    options &cuda(int index = TURNTILE_CUDA_CURRENT) {
        return desc_.device = TURNTILE_CUDA, desc_.device_index = index, *this;
    }
    options &alignment(std::size_t bytes) { return desc_.alignment = bytes, *this; }

    const turntile_desc &desc() const { return desc_; }

private:
    turntile_desc desc_ = TURNTILE_DESC_INIT;
};

/// Owns a plan. Threads can run it at the same time, each run with its own workspace.
class plan {
public:
    plan(std::size_t itemsize, const numbers &shape, const numbers &axes, const options &more = {}) {
        detail::same_length(shape, axes);
        turntile_desc desc = more.desc();
        desc.itemsize = itemsize;
        desc.ndim = shape.size();
        desc.shape = shape.data();
        desc.axes = axes.data();
        turntile_plan *made = nullptr;
        check(turntile_plan_create(&desc, &made));
        plan_.reset(made);
    }

    template <class T> static plan permuting(const numbers &shape, const numbers &axes, const options &more = {}) {
        detail::movable<T>();
        return plan(sizeof(T), shape, axes, more);
    }

    template <class T> static plan transposing(std::size_t rows, std::size_t cols, const options &more = {}) {
        return permuting<T>({rows, cols}, {1, 0}, more);
    }

    /// Returns the bytes of workspace that a run needs.
    std::size_t workspace_bytes() const { return turntile_plan_workspace(plan_.get()); }

    /// Returns a description: route, stages, estimated time.
    std::string text() const {
        std::string all(turntile_plan_text(plan_.get(), nullptr, 0), '\0');
        turntile_plan_text(plan_.get(), &all[0], all.size());
        all.pop_back();
        return all;
    }

    /// Runs in place on the CPU, and allocates the workspace.
    template <class C, class T = detail::element<C>> void execute(C &&data) const {
        detail::movable<T>();
        execute(detail::written(data), std::size(data) * sizeof(T));
    }

    /// Runs in place, as turntile_execute().
    void execute(void *data, std::size_t data_bytes, void *workspace = nullptr, std::size_t workspace_bytes = 0,
                 void *stream = nullptr) const {
        check(turntile_execute(plan_.get(), data, data_bytes, workspace, workspace_bytes, stream));
    }

    /// Runs a plan with options().out_of_place(), as turntile_execute_copy().
    void execute_copy(const void *src, void *dst, std::size_t bytes, void *stream = nullptr) const {
        check(turntile_execute_copy(plan_.get(), src, dst, bytes, stream));
    }

    template <class Src, class Dst, class T = detail::element<Dst>, class = detail::element<const Src>>
    void execute_copy(const Src &src, Dst &&dst) const {
        detail::movable<T>();
        if (std::size(src) != std::size(dst))
            throw error(TURNTILE_ERROR_LENGTH, "src and dst differ in size");
        const T *source = std::data(src);
        execute_copy(source, detail::written(dst), std::size(dst) * sizeof(T));
    }

    const turntile_plan *get() const noexcept { return plan_.get(); }

private:
    struct destroy {
        void operator()(turntile_plan *plan) const { turntile_plan_destroy(plan); }
    };
    std::unique_ptr<turntile_plan, destroy> plan_;
};

} // namespace turntile

#endif
