// The pose space of a driver table, version 2 or 3, or of the sculpts of version 4: coordinates of joints and channels, and the values of regions.
#pragma once
#include "dermis_json.hpp"
#include "dermis_rotation.hpp"
#include <algorithm>
#include <limits>

namespace dermis {

using Channels = std::map<std::string, double>;
struct Transform { Matrix3 linear; Vector3 translation; };

/// The largest length that a coordinate may have.
inline double limit_of(const Json& joint) {
    const bool is_null = joint["limit"].kind == Json::Kind::null;
    return is_null ? std::numeric_limits<double>::infinity() : joint["limit"].number();
}

class PoseSpace {
public:
    PoseSpace(const Json& table, std::size_t bones, std::size_t shapes)
        : kernel(table["kernel"]["kind"].text()),
          sigma(table["kernel"]["sigma"].number()),
          linear(table["linear"].boolean()) {
        const Json& kind = table["coordinates"];
        coordinates.kind = kind["kind"].text();
        if (coordinates.kind == "swing-twist") {
            coordinates.swing = kind["swing"].number();
            coordinates.twist = kind["twist"].number();
        }
        const bool is_kernel = kernel == "gaussian" || kernel == "wendland" || kernel == "polyharmonic";
        Json::demand(coordinates.size() > 0, "this reader does not know coordinates " + coordinates.kind);
        Json::demand(is_kernel, "this reader does not know kernel " + kernel);
        for (const Json& joint : table["joints"].list()) {
            const Numbers axis = joint["axis"].numbers(3, "axis of a joint");
            joints.push_back({{}, {axis[0], axis[1], axis[2]}, limit_of(joint), part_of(joint)});
            for (const Json& pair : joint["path"].list()) {
                Json::demand(pair.list().size() == 2, "a pair of a path has not two bones");
                const auto bone = [&](int end) { return pair.list()[end].index(bones, "path of a joint"); };
                joints.back().path.push_back({bone(0), bone(1)});
            }
        }
        for (const Json& channel : table["channels"].list())
            channels.push_back({channel["name"].text(), channel["scale"].number(), limit_of(channel)});
        for (const Json& region : table["regions"].list()) regions.push_back(read_region(region, shapes));
    }

    /// Adds the values of all regions, times their matrices, to the weights; multiplies the windows of shapes.
    void add_to(Numbers& weights, const std::vector<Transform>& transforms, const Channels& values, Numbers& windows) const {
        std::vector<Numbers> x;
        for (const Joint& joint : joints) {
            Matrix3 q = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
            for (const auto& [a, b] : joint.path)
                q = product(q, product(inverse(transforms[a].linear), transforms[b].linear));
            x.push_back(limited(joint.kind.of(q, joint.axis), joint.limit));
        }
        for (const Channel& channel : channels) {
            const auto found = values.find(channel.name);
            x.push_back(limited({found == values.end() ? 0 : channel.scale * found->second}, channel.limit));
        }
        for (const Region& region : regions) {
            Numbers here;
            for (const Relevance& part : region.relevance)
                for (double number : x[part.coordinate]) here.push_back(number);
            const double to_origin = phi(region, here, Numbers(here.size()));
            Numbers kappa;
            for (std::size_t i = 0; i < region.centres.size(); ++i) {
                const double to_centre = phi(region, here, region.centres[i]), at_bind = region.at_bind[i];
                const bool is_sum = kernel == "polyharmonic";
                kappa.push_back(is_sum ? (to_centre - to_origin - at_bind) / 2 : to_centre - to_origin * at_bind);
            }
            if (linear)
                for (const Relevance& part : region.relevance)
                    for (double number : x[part.coordinate]) kappa.push_back(std::sqrt(part.a) * number);
            for (std::size_t i = 0; i < region.shapes.size(); ++i)
                weights[region.shapes[i]] += dot(region.matrix[i], kappa);
            for (std::size_t i = 0; i < region.windows.size(); ++i)
                windows[region.shapes[i]] *= window_at(region, region.windows[i], here);
        }
    }

private:
    struct Joint { std::vector<std::array<std::size_t, 2>> path; Vector3 axis; double limit; Coordinates kind; };
    struct Channel { std::string name; double scale, limit; };
    struct Relevance { std::size_t coordinate; double a; std::size_t size; };
    struct Window { std::size_t centre; Numbers relevance; };
    struct Region {
        std::vector<Relevance> relevance;
        std::vector<Numbers> centres, matrix;
        Numbers at_bind; // kernels between the bind pose and the centres, which do not depend on the pose
        std::vector<std::size_t> shapes;
        std::vector<Window> windows; // one for each of the shapes, or none
    };

    /// The coordinates of a joint: of a part of its rotation the scale of the other part is zero.
    Coordinates part_of(const Json& joint) const {
        Coordinates own = coordinates;
        if (!joint.has("part")) return own;
        const std::string part = joint["part"].text();
        const bool is_known = own.kind == "swing-twist" && (part == "swing" || part == "twist");
        Json::demand(is_known, "a joint reads the part " + part + " of coordinates " + own.kind);
        (part == "swing" ? own.twist : own.swing) = 0;
        return own;
    }

    Region read_region(const Json& json, std::size_t shapes) const {
        Region region;
        std::size_t size = 0;
        for (const Json& pair : json["relevance"].list()) {
            Json::demand(pair.list().size() == 2, "a pair of a relevance has not two numbers");
            const std::size_t count = joints.size() + channels.size();
            const std::size_t coordinate = pair.list()[0].index(count, "relevance of a region");
            const std::size_t own = coordinate < joints.size() ? coordinates.size() : 1;
            region.relevance.push_back({coordinate, pair.list()[1].number(), own});
            size += own;
        }
        for (const Json& shape : json["shapes"].list())
            region.shapes.push_back(shape.index(shapes, "shapes of a region"));
        region.centres = json["centres"].rows(json["centres"].list().size(), size, "centres of a region");
        const std::size_t values = region.centres.size() + (linear ? size : 0);
        region.matrix = json["matrix"].rows(region.shapes.size(), values, "matrix of a region");
        if (json.has("windows"))
            for (const Json& window : json["windows"].list())
                region.windows.push_back({window["centre"].index(region.centres.size(), "centre of a window"),
                                          window["relevance"].numbers(region.relevance.size(), "relevance of a window")});
        const bool has_all = region.windows.empty() || region.windows.size() == region.shapes.size();
        Json::demand(has_all, "a region has not a window per shape");
        for (const Numbers& centre : region.centres) region.at_bind.push_back(phi(region, Numbers(size), centre));
        return region;
    }

    /// A window: one up to r = 3/4, zero from r = 1, and smooth between.
    static double window_at(const Region& region, const Window& window, const Numbers& here) {
        double square = 0;
        std::size_t at = 0;
        for (std::size_t n = 0; n < region.relevance.size(); ++n) {
            const std::size_t size = region.relevance[n].size;
            square += window.relevance[n] * squared_distance(&here[at], &region.centres[window.centre][at], size);
            at += size;
        }
        const double t = std::min(std::max(4 * std::sqrt(square) - 3, 0.0), 1.0);
        return 1 - t * t * (3 - 2 * t);
    }

    /// The kernel of two points, each with the numbers of all coordinates of the region.
    double phi(const Region& region, const Numbers& x, const Numbers& y) const {
        double sum = 0, product = 1;
        std::size_t at = 0;
        for (const Relevance& part : region.relevance) {
            const double square = part.a * squared_distance(&x[at], &y[at], part.size) / (sigma * sigma);
            const double r = std::sqrt(square);
            sum += square;
            product *= r < 1 ? std::pow(1 - r, 7) * (7 * r + 1) : 0;
            at += part.size;
        }
        return kernel == "gaussian" ? std::exp(-sum) : kernel == "wendland" ? product : -std::sqrt(sum);
    }

    std::string kernel;
    double sigma;
    bool linear;
    Coordinates coordinates;
    std::vector<Joint> joints;
    std::vector<Channel> channels;
    std::vector<Region> regions;
};

} // namespace dermis
