// Matrices of three rows, and the coordinate of a joint in a pose space: step 3 of docs/drivers.md. C++17.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace dermis {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<Vector3, 3>; // rows
using Numbers = std::vector<double>;

inline double dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

inline double dot(const Numbers& a, const Numbers& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The squared distance of `count` numbers.
inline double squared_distance(const double* a, const double* b, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/// Scales x to the length `limit` if it is longer.
inline Numbers limited(Numbers x, double limit) {
    const double norm = std::sqrt(dot(x, x));
    if (norm > limit)
        for (double& number : x) number *= limit / norm;
    return x;
}

inline Vector3 cross(const Vector3& a, const Vector3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

inline Matrix3 product(const Matrix3& a, const Matrix3& b) {
    Matrix3 made{};
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) made[r][c] = a[r][0] * b[0][c] + a[r][1] * b[1][c] + a[r][2] * b[2][c];
    return made;
}

inline Matrix3 inverse(const Matrix3& m) {
    const Matrix3 columns = {cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])};
    const double determinant = dot(columns[0], m[0]);
    Matrix3 made{};
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) made[r][c] = columns[c][r] / determinant;
    return made;
}

/// Returns the orthogonal polar factor. Newton's iteration squares its error: a step below 1e-9 is the last.
inline Matrix3 nearest_rotation(Matrix3 q) {
    double change = 1;
    for (int step = 0; step < 50 && change > 1e-9; ++step) {
        const Matrix3 other = inverse(q);
        change = 0;
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) {
                const double next = (q[r][c] + other[c][r]) / 2;
                change += std::abs(next - q[r][c]);
                q[r][c] = next;
            }
    }
    return q;
}

/// Returns (w, x, y, z) with w >= 0, from the row of 4 q qT that is longest, which is accurate at every angle.
inline std::array<double, 4> quaternion(const Matrix3& m) {
    const double xy = m[0][1] + m[1][0], yz = m[1][2] + m[2][1], zx = m[2][0] + m[0][2];
    const double wx = m[2][1] - m[1][2], wy = m[0][2] - m[2][0], wz = m[1][0] - m[0][1];
    const double x = m[0][0], y = m[1][1], z = m[2][2];
    const std::array<std::array<double, 4>, 4> rows = {{
        {1 + x + y + z, wx, wy, wz},
        {wx, 1 + x - y - z, xy, zx},
        {wy, xy, 1 - x + y - z, yz},
        {wz, zx, yz, 1 - x - y + z},
    }};
    std::array<double, 4> longest{};
    double most = 0;
    for (const auto& row : rows) {
        const double squares = row[0] * row[0] + row[1] * row[1] + row[2] * row[2] + row[3] * row[3];
        if (squares > most) longest = row, most = squares;
    }
    const double length = longest[0] < 0 ? -std::sqrt(most) : std::sqrt(most);
    for (double& number : longest) number /= length;
    return longest;
}

/// The kind of the coordinates of a table.
struct Coordinates {
    std::string kind;
    double swing = 0, twist = 0;

    /// How many numbers a coordinate has; 0 for a kind that is not known.
    std::size_t size() const {
        return kind == "chord" ? 9 : kind == "rotation-vector" || kind == "euler" ? 3 : kind == "swing-twist" ? 5 : 0;
    }

    /// Returns the coordinate of Q. `axis` is the joint's.
    Numbers of(const Matrix3& q, const Vector3& axis) const {
        Numbers x;
        if (kind == "chord") {
            for (int c = 0; c < 3; ++c)
                for (int r = 0; r < 3; ++r) x.push_back((q[r][c] - (r == c)) / std::sqrt(2.0));
            return x;
        }
        const Matrix3 m = nearest_rotation(q);
        if (kind == "euler") {
            const double sine = std::clamp(-m[2][0], -1.0, 1.0); // rounding may leave the domain of asin
            return {std::atan2(m[2][1], m[2][2]), std::asin(sine), std::atan2(m[1][0], m[0][0])};
        }
        const auto [w, i, j, k] = quaternion(m);
        const Vector3 v = {i, j, k};
        if (kind == "rotation-vector") {
            const double norm = std::sqrt(dot(v, v));
            for (double number : v) x.push_back(norm == 0 ? 0 : number / norm * 2 * std::atan2(norm, w));
            return x;
        }
        const double along = dot(v, axis), n = std::hypot(along, w);
        const double h = n < 1e-12 ? 0 : along / n, g = n < 1e-12 ? 1 : w / n;
        for (int r = 0; r < 3; ++r) x.push_back(swing * (dot(m[r], axis) - axis[r]));
        x.insert(x.end(), {-2 * h * h * twist, 2 * h * g * twist});
        return x;
    }
};

} // namespace dermis
