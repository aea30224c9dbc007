// Computes the weights of morph targets from the table of `dermis export drivers`: of a joint model or a pose space.
// Equations and names are those of docs/drivers.md. C++17, headers only: the four files dermis_*.hpp of this folder.
//
//   const dermis::Drivers drivers(dermis::Json::parse(text));
//   std::vector<double> weights = drivers.weights([&](const std::string& bone) { return world_matrix(bone); });
#pragma once
#include "dermis_pose_space.hpp"
#include <functional>
#include <optional>

namespace dermis {

using Matrix4 = std::array<double, 16>; // column by column

class Drivers {
public:
    std::vector<std::string> bones, shapes;

    /// Throws std::runtime_error if the table is of an unknown kind or its counts contradict each other.
    explicit Drivers(const Json& table) {
        Json::demand(table["format"].text() == "dermis-drivers", "format is " + table["format"].text());
        const double version = table["version"].number();
        const std::string kind = table.has("kind") ? table["kind"].text() : "";
        const bool is_joint_model = version == 1 || version == 4 || version == 5;
        const bool is_known = is_joint_model || ((version == 2 || version == 3) && kind == "pose-space");
        std::ostringstream found;
        found << "version " << version << (kind.empty() ? "" : ", kind " + kind);
        Json::demand(is_known, "this reader does not know " + found.str());
        for (const Json& bone : table["bones"].list()) {
            bones.push_back(bone["name"].text());
            inverse_bind.push_back(bone["inverse_bind"].rows(3, 4, "inverse_bind of " + bones.back()));
        }
        for (const Json& shape : table["shapes"].list()) shapes.push_back(shape.text());
        offset = table["offset"].numbers(shapes.size(), "offset");
        clamp = table["clamp"].numbers(2, "clamp");
        if (!is_joint_model) pose_space.emplace(table, bones.size(), shapes.size());
        const bool has_sculpts = version == 4 || (version == 5 && table.has("sculpts"));
        if (is_joint_model) read_joint_model(table, version, has_sculpts);
        if (has_sculpts) pose_space.emplace(table["sculpts"], bones.size(), shapes.size());
    }

    /// Returns a weight for every name in `shapes`. `world_of(bone)` is the joint-to-world matrix of the bone of that
    /// name, in the axes of the GLB. `channels` has values by name; one that it lacks is zero.
    Numbers weights(const std::function<Matrix4(const std::string&)>& world_of, const Channels& channels = {}) const {
        std::vector<Transform> transforms(bones.size());
        for (std::size_t bone = 0; bone < bones.size(); ++bone) {
            const Matrix4 world = world_of(bones[bone]);
            for (int r = 0; r < 3; ++r)
                for (int c = 0; c < 4; ++c) {
                    double entry = c == 3 ? world[12 + r] : 0;
                    for (int k = 0; k < 3; ++k) entry += world[4 * k + r] * inverse_bind[bone][k][c];
                    (c == 3 ? transforms[bone].translation[r] : transforms[bone].linear[r][c]) = entry;
                }
        }
        return weights_of(transforms, channels);
    }

    /// The same from M = T B⁻¹ of every name in `bones`, for an engine that has inverse bind matrices of its own.
    Numbers weights_of(const std::vector<Transform>& transforms, const Channels& channels = {}) const {
        Numbers weights = offset, windows(offset.size(), 1);
        if (pose_space) pose_space->add_to(weights, transforms, channels, windows);
        Numbers z;
        for (const Joint& joint : joints) append_coordinates(z, joint, transforms);
        for (const Seeing& seeing : gravity) append_down(z, seeing, transforms[seeing.bone]);
        for (std::size_t i = 0; i < matrix.size(); ++i) weights[i] += dot(matrix[i], z);
        // A bone scaled to zero has no inverse. NaN would hide the whole mesh; the weight of the bind pose replaces it.
        for (std::size_t i = 0; i < weights.size(); ++i)
            weights[i] = windows[i] * std::clamp(std::isfinite(weights[i]) ? weights[i] : offset[i], clamp[0], clamp[1]);
        return weights;
    }

private:
    struct Joint {
        std::size_t from, to;
        bool slides; // else the rotation alone is read
        Vector3 centre;
        double limit;
        std::vector<Numbers> inducing, inverse_factor;
        Numbers at_bind; // g(0, ψ) − 1 of every ψ, which does not depend on the pose
    };

    struct Seeing { // a bone that sees down
        std::size_t bone;
        double limit;
    };

    void read_joint_model(const Json& table, double version, bool has_sculpts) {
        length = table["length"].number();
        sigma = table["sigma"].number();
        std::size_t columns = 0;
        for (const Json& json : table["joints"].list()) {
            const bool slides = json["centre"].kind != Json::Kind::null;
            const Numbers c = slides ? json["centre"].numbers(3, "centre of a joint") : Numbers(3);
            const std::size_t from = json["from"].index(bones.size(), "from of a joint");
            const std::size_t to = json["to"].index(bones.size(), "to of a joint");
            const std::size_t count = json["inverse_factor"].list().size();
            Joint joint = {from, to, slides, {c[0], c[1], c[2]}, limit_of(json), {}, {}, {}};
            joint.inducing = json["inducing"].rows(count, 12, "inducing of a joint");
            for (const Json& row : json["inverse_factor"].list())
                joint.inverse_factor.push_back(row.numbers(joint.inverse_factor.size() + 1, "a row of inverse_factor"));
            for (const Numbers& psi : joint.inducing) joint.at_bind.push_back(g_minus_one(Numbers(12), psi));
            columns += count;
            joints.push_back(joint);
        }
        if (version == 5 && table.has("arc_cosine")) arc_cosine = table["arc_cosine"].number();
        if (version == 5 && table.has("gravity")) {
            const Json& json = table["gravity"];
            down = json["down"].numbers(3, "down");
            for (const Json& bone : json["bones"].list())
                gravity.push_back({bone["bone"].index(bones.size(), "a bone of gravity"), limit_of(bone)});
            columns += 3 * gravity.size();
        }
        // With sculpts the first shapes alone are those of the joints.
        const std::size_t rows = std::min(table["matrix"].list().size(), shapes.size());
        matrix = table["matrix"].rows(has_sculpts ? rows : shapes.size(), columns, "matrix");
    }

    void append_coordinates(Numbers& z, const Joint& joint, const std::vector<Transform>& transforms) const {
        const Transform &a = transforms[joint.from], &b = transforms[joint.to];
        const Matrix3 to_a = inverse(a.linear), rotation = product(to_a, b.linear);
        Vector3 apart{};
        for (int r = 0; r < 3; ++r) apart[r] = b.translation[r] - a.translation[r];
        Numbers phi;
        for (int r = 0; r < 3; ++r) {
            Vector3 turn = rotation[r];
            turn[r] -= 1;
            for (double entry : turn) phi.push_back(entry / std::sqrt(2.0));
            phi.push_back(joint.slides ? dot(to_a[r], apart) / length + dot(turn, joint.centre) : 0.0);
        }
        phi = limited(phi, joint.limit);
        const double to_origin = g_minus_one(phi, Numbers(12));
        Numbers k;
        for (std::size_t i = 0; i < joint.inducing.size(); ++i)
            k.push_back(kernel(sigma * sigma / 2 * (g_minus_one(phi, joint.inducing[i]) - to_origin - joint.at_bind[i]), phi, joint.inducing[i]));
        for (const Numbers& row : joint.inverse_factor) z.push_back(dot(row, k));
    }

    /// The Gaussian kernel of two features, with its share of the arc-cosine kernel of order one.
    double kernel(double gaussian, const Numbers& x, const Numbers& y) const {
        if (arc_cosine == 0) return gaussian;
        const double lengths = std::sqrt(dot(x, x) * dot(y, y));
        if (lengths == 0) return 0;
        const double cosine = std::clamp(dot(x, y) / lengths, -1.0, 1.0), angle = std::acos(cosine), pi = std::acos(-1.0);
        return (1 - arc_cosine) * gaussian + arc_cosine * lengths * (std::sin(angle) + (pi - angle) * cosine) / pi;
    }

    /// Where down is, as the axes of a bone see it, less what they see at the bind pose.
    void append_down(Numbers& z, const Seeing& seeing, const Transform& m) const {
        Numbers seen(3);
        for (int axis = 0; axis < 3; ++axis) {
            const Numbers column = {m.linear[0][axis], m.linear[1][axis], m.linear[2][axis]};
            const double size = std::sqrt(dot(column, column));
            seen[axis] = size > 0 ? dot(column, down) / size - down[axis] : 0;
        }
        for (double number : limited(seen, seeing.limit)) z.push_back(number);
    }

    /// The ones of g(φ, ψ) − g(φ, 0) − g(0, ψ) + 1 cancel, and expm1 keeps the digits that go with them.
    double g_minus_one(const Numbers& x, const Numbers& y) const {
        return std::expm1(-squared_distance(x.data(), y.data(), 12) / (sigma * sigma));
    }

    std::vector<std::vector<Numbers>> inverse_bind;
    Numbers offset, clamp;
    double length = 1, sigma = 1, arc_cosine = 0;
    std::vector<Joint> joints;
    std::vector<Seeing> gravity;
    Numbers down;
    std::vector<Numbers> matrix;
    std::optional<PoseSpace> pose_space; // also that of the sculpts of a joint model
};

} // namespace dermis
