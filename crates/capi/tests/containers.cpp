// Tests turntile.hpp with vectors, arrays, spans and pointers, and its errors.
#include <algorithm>
#include <array>
#include <cstdio>
#include <turntile.hpp>
#if __cplusplus >= 202002L
#include <span>
#endif

static int failures = 0;

static void check(bool right, const char *what) {
    if (!right)
        failures++, std::printf("failed: %s\n", what);
}

template <class Call> static void refused(Call call, turntile_status status, const char *what) {
    try {
        call();
        check(false, what);
    } catch (const turntile::error &error) {
        check(error.status() == status, error.what());
    }
}

/// Tests every call on six floats in a container.
template <class C> static void calls(C data, const char *what) {
    const std::array<float, 6> turned = {1, 4, 2, 5, 3, 6};
    const auto is = [&](const auto &want) { return std::equal(std::begin(data), std::end(data), want.begin()); };
    const std::array<float, 6> before = {1, 2, 3, 4, 5, 6};
    check(is(before), what);
    turntile::transpose(data, 2, 3);
    check(is(turned), what);
    turntile::permute(data, {3, 2}, {1, 0});
    check(is(before), what);
    turntile::plan::transposing<float>(2, 3).execute(data);
    check(is(turned), what);
    turntile::transpose_copy(before, data, 2, 3);
    check(is(turned), what);
    turntile::plan::transposing<float>(2, 3, turntile::options().out_of_place()).execute_copy(before, data);
    check(is(turned), what);
    turntile::transpose(std::data(data), 3, 2); // by a pointer
    check(is(before), what);
    turntile::rot90(data, {2, 3});
    check(is(std::array<float, 6>{3, 6, 2, 5, 1, 4}), what);
    turntile::rot90(std::data(data), {3, 2}, -1);
    check(is(before), what);
    turntile::flip(data, {2, 3}, {1});
    check(is(std::array<float, 6>{3, 2, 1, 6, 5, 4}), what);
    turntile::flip(std::data(data), {2, 3}, {1});
    check(is(before), what);
    refused([&] { turntile::flip(data, {2, 3}, {2}); }, TURNTILE_ERROR_ARGUMENT, "no third axis");
    refused([&] { turntile::rot90(data, {2, 3}, 1, 0, 2); }, TURNTILE_ERROR_ARGUMENT, "no third axis");
    refused([&] { turntile::transpose(data, 2, 4); }, TURNTILE_ERROR_LENGTH, "too short");
    refused([&] { turntile::transpose_copy(std::vector<float>(5), data, 2, 3); }, TURNTILE_ERROR_LENGTH, "a short source");
    check(is(before), what);
}

int main() {
    calls(std::vector<float>{1, 2, 3, 4, 5, 6}, "a vector");
    calls(std::array<float, 6>{1, 2, 3, 4, 5, 6}, "an array");
#if __cplusplus >= 202002L
    std::vector<float> longer = {9, 1, 2, 3, 4, 5, 6, 9};
    calls(std::span(longer).subspan(1, 6), "a span");
    check(longer.front() == 9 && longer.back() == 9, "elements around a span");
    turntile::transpose(std::span(longer).subspan(1, 6), 2, 3); // a temporary
    check(longer[2] == 4, "a temporary span");
#endif
    float plain[2][3] = {{1, 2, 3}, {4, 5, 6}};
    turntile::transpose(&plain[0][0], 2, 3);
    check(plain[0][1] == 4, "an array of C's");
    const turntile::plan in_place = turntile::plan::transposing<float>(2, 3);
    refused([&] { in_place.execute_copy(plain, plain, sizeof plain); }, TURNTILE_ERROR_ARGUMENT, "a plan in place");
    return failures > 0;
}
