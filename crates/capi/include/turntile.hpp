// turntile for C++17: turntile.h with types, ownership and exceptions.
//
//     std::vector<float> matrix = {1, 2, 3, 4, 5, 6};        // or std::array, C++20's std::span, pointers
//     turntile::transpose(matrix, 2, 3);                     // 3 rows of 2 now
//
//     turntile::plan plan = turntile::plan::transposing<float>(300, 200, turntile::options().threads(2));
//     plan.execute(matrices);                                // as often as wanted
//
// Elements are trivially copyable. Whatever fails throws turntile::error, and has changed nothing.
#ifndef TURNTILE_HPP
#define TURNTILE_HPP

#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "turntile.h"

namespace turntile {

/// A call that failed: its status, and in what() the text.
class error : public std::runtime_error {
public:
    error(turntile_status status, const char *text) : std::runtime_error(text), status_(status) {}
    turntile_status status() const noexcept { return status_; }

private:
    turntile_status status_;
};

/// Throws what a status says, if it says that something failed.
inline void check(turntile_status status) {
    if (status != TURNTILE_SUCCESS)
        throw error(status, turntile_last_error());
}

/// Extents or axes.
using numbers = std::vector<std::size_t>;

namespace detail {
template <class T> constexpr void movable() {
    static_assert(std::is_trivially_copyable<T>::value, "elements are moved as bytes");
}

inline void same_length(std::size_t extents, std::size_t axes) {
    if (extents != axes)
        throw error(TURNTILE_ERROR_ARGUMENT, "there are not as many axes as extents");
}

/// What lies one beside the other and knows how much it is: a vector, a std::array, a std::span.
template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;

/// The first element, of those that can be written.
template <class C> element<C> *written(C &data) {
    static_assert(!std::is_const<element<C>>::value, "const elements cannot be transposed in place");
    return std::data(data);
}

/// That a container has as many elements as its shape, where that can be counted; the call says where not.
template <class C> void whole(const C &data, const numbers &extents) {
    std::size_t all = 1;
    for (std::size_t extent : extents) {
        if (extent != 0 && all > static_cast<std::size_t>(-1) / extent)
            return;
        all *= extent;
    }
    if (std::size(data) != all)
        throw error(TURNTILE_ERROR_LENGTH, ("the shape has " + std::to_string(all) + " elements, the data have " +
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

/// Permutes the axes of a row-major array in place: axis i of the result is axis axes[i] of `extents`.
template <class T> void permute(T *data, const numbers &extents, const numbers &axes) {
    detail::movable<T>();
    detail::same_length(extents.size(), axes.size());
    check(turntile_permute(data, extents.size(), extents.data(), axes.data(), sizeof(T)));
}

template <class C, class T = detail::element<C>> void permute(C &&data, const numbers &extents, const numbers &axes) {
    detail::whole(data, extents);
    permute<T>(detail::written(data), extents, axes);
}

/// Transposes the matrix in `from` into `to`, which do not overlap.
template <class T> void transpose_into(T *to, const T *from, std::size_t rows, std::size_t cols) {
    detail::movable<T>();
    check(turntile_transpose_into(to, from, rows, cols, sizeof(T)));
}

template <class To, class From, class T = detail::element<To>, class = detail::element<const From>>
void transpose_into(To &&to, const From &from, std::size_t rows, std::size_t cols) {
    detail::whole(to, {rows, cols});
    detail::whole(from, {rows, cols});
    transpose_into<T>(detail::written(to), std::data(from), rows, cols);
}

/// Options of a plan beyond its shape.
class options {
public:
    options &batch(std::size_t arrays) { return desc_.batch = arrays, *this; }
    options &threads(std::size_t most) { return desc_.threads = most, *this; }
    /// Bytes of workspace at most, down to 0.
    options &workspace_limit(std::size_t bytes) {
        desc_.workspace_limit = bytes;
        desc_.flags = bytes == 0 ? desc_.flags | TURNTILE_NO_WORKSPACE : desc_.flags & ~uint32_t(TURNTILE_NO_WORKSPACE);
        return *this;
    }
    /// Elements from a row of a matrix to the next, before and afterwards.
    options &leading(std::size_t lda, std::size_t ldb) { return desc_.lda = lda, desc_.ldb = ldb, *this; }
    options &out_of_place() { return desc_.flags |= TURNTILE_OUT_OF_PLACE, *this; }
    /// On a GPU; device memory and streams are then of its context.
    options &cuda(int index = TURNTILE_CUDA_CURRENT) {
        return desc_.device = TURNTILE_CUDA, desc_.device_index = index, *this;
    }
    /// What addresses of device memory are multiples of.
    options &alignment(std::size_t bytes) { return desc_.alignment = bytes, *this; }

    const turntile_desc &desc() const { return desc_; }

private:
    turntile_desc desc_ = TURNTILE_DESC_INIT;
};

/// A plan, owned. It can be run from any thread, and at the same time where each run has a workspace of its own.
class plan {
public:
    plan(std::size_t elem_bytes, const numbers &extents, const numbers &axes, const options &more = {}) {
        detail::same_length(extents.size(), axes.size());
        turntile_desc desc = more.desc();
        desc.elem_bytes = elem_bytes;
        desc.rank = extents.size();
        desc.extents = extents.data();
        desc.axes = axes.data();
        turntile_plan *made = nullptr;
        check(turntile_plan_create(&desc, &made));
        plan_.reset(made);
    }

    template <class T> static plan permuting(const numbers &extents, const numbers &axes, const options &more = {}) {
        detail::movable<T>();
        return plan(sizeof(T), extents, axes, more);
    }

    template <class T> static plan transposing(std::size_t rows, std::size_t cols, const options &more = {}) {
        return permuting<T>({rows, cols}, {1, 0}, more);
    }

    /// Bytes of workspace that a run takes.
    std::size_t workspace_bytes() const { return turntile_plan_workspace(plan_.get()); }

    /// The plan as people read it.
    std::string text() const {
        std::string all(turntile_plan_text(plan_.get(), nullptr, 0), '\0');
        turntile_plan_text(plan_.get(), &all[0], all.size());
        all.pop_back();
        return all;
    }

    /// In place; the workspace is allocated for the run.
    template <class C, class T = detail::element<C>> void execute(C &&data) const {
        detail::movable<T>();
        execute(detail::written(data), std::size(data) * sizeof(T));
    }

    /// In place, with a workspace of the caller's; on a GPU queued on `stream`.
    void execute(void *data, std::size_t data_bytes, void *workspace = nullptr, std::size_t workspace_bytes = 0,
                 void *stream = nullptr) const {
        check(turntile_execute(plan_.get(), data, data_bytes, workspace, workspace_bytes, stream));
    }

    /// From one buffer into another, by a plan that is out of place.
    void execute_into(void *to, const void *from, std::size_t data_bytes, void *stream = nullptr) const {
        check(turntile_execute_into(plan_.get(), to, from, data_bytes, stream));
    }

    template <class To, class From, class T = detail::element<To>, class = detail::element<const From>>
    void execute_into(To &&to, const From &from) const {
        detail::movable<T>();
        if (std::size(to) != std::size(from))
            throw error(TURNTILE_ERROR_LENGTH, "the two are not equally long");
        const T *source = std::data(from);
        execute_into(detail::written(to), source, std::size(to) * sizeof(T));
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
