// Prints the weights of every pose: check TABLE.json POSES.json
#include "../dermis_drivers.hpp"
#include <cstdio>
#include <fstream>
#include <iostream>

static dermis::Json read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return dermis::Json::parse(text.str());
}

int main(int, char** arguments) try {
    const dermis::Drivers drivers(read(arguments[1]));
    const dermis::Json poses = read(arguments[2]);
    const char* between = "[";
    for (const dermis::Json& pose : poses["poses"].list()) {
        dermis::Channels channels;
        if (pose.has("channels"))
            for (const auto& [name, value] : pose["channels"].members) channels[name] = value.number();
        const auto world_of = [&](const std::string& bone) {
            const dermis::Numbers numbers = pose["matrices"][bone].numbers(16, bone);
            dermis::Matrix4 world;
            std::copy(numbers.begin(), numbers.end(), world.begin());
            return world;
        };
        std::printf("%s", between);
        const char* comma = "[";
        for (double weight : drivers.weights(world_of, channels)) {
            std::printf("%s%.17g", comma, weight);
            comma = ",";
        }
        std::printf("]");
        between = ",";
    }
    std::printf("]\n");
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
