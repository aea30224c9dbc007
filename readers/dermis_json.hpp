// Just enough JSON for driver tables: a document becomes a tree of values. C++17, the standard library alone.
#pragma once
#include <cmath>
#include <istream>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dermis {

/// A value. What is read from a value of another kind throws std::runtime_error.
struct Json {
    enum class Kind { null, boolean, number, text, list, object } kind = Kind::null;
    double scalar = 0;
    std::string string;
    std::vector<Json> items;
    std::map<std::string, Json> members;

    static Json parse(const std::string& text) {
        std::istringstream in(text);
        in.imbue(std::locale::classic()); // a decimal point, whatever the language of the program
        Json document = value(in, 0);
        expect((in >> std::ws).eof());
        return document;
    }
    const Json& operator[](const std::string& key) const {
        const auto found = members.find(key);
        demand(found != members.end(), "there is no field " + key);
        return found->second;
    }
    bool has(const std::string& key) const { return members.count(key) > 0; }
    const std::string& text() const { return of(Kind::text, "a text").string; }
    const std::vector<Json>& list() const { return of(Kind::list, "a list").items; }
    double number() const { return of(Kind::number, "a number").scalar; }
    bool boolean() const { return of(Kind::boolean, "true or false").scalar != 0; }
    /// A place in a list of `count` things.
    std::size_t index(std::size_t count, const std::string& what) const {
        const double place = number();
        const bool is_there = place >= 0 && place < double(count) && place == std::floor(place);
        demand(is_there, what + " names one that is not there");
        return std::size_t(place);
    }
    std::vector<double> numbers(std::size_t count, const std::string& what) const {
        demand_count(count, what);
        std::vector<double> all;
        for (const Json& item : items) all.push_back(item.number());
        return all;
    }
    std::vector<std::vector<double>> rows(std::size_t count, std::size_t size, const std::string& what) const {
        demand_count(count, what);
        std::vector<std::vector<double>> all;
        for (const Json& item : items) all.push_back(item.numbers(size, what));
        return all;
    }
    void demand_count(std::size_t count, const std::string& what) const {
        const std::size_t found = list().size();
        demand(found == count, what + ": " + std::to_string(found) + " instead of " + std::to_string(count));
    }
    static void demand(bool is_right, const std::string& reason) {
        if (!is_right) throw std::runtime_error("driver table: " + reason);
    }

private:
    const Json& of(Kind wanted, const char* name) const {
        demand(kind == wanted, std::string(name) + " is expected where there is something else");
        return *this;
    }
    static char next(std::istream& in) {
        char c = 0;
        in >> std::ws >> c;
        return c;
    }
    static void expect(bool is_right) { demand(is_right, "this is not JSON"); }
    static Json value(std::istream& in, int depth) {
        expect(depth < 64);
        Json made;
        const int first = (in >> std::ws).peek();
        if (first == '{' || first == '[') {
            made.kind = first == '{' ? Kind::object : Kind::list;
            const char end = first == '{' ? '}' : ']';
            in.get();
            if ((in >> std::ws).peek() == end) return in.get(), made;
            for (char separator = ','; separator != end; separator = next(in)) {
                expect(separator == ',');
                if (made.kind == Kind::list) {
                    made.items.push_back(value(in, depth + 1));
                    continue;
                }
                const std::string key = value(in, depth + 1).text();
                expect(next(in) == ':');
                made.members[key] = value(in, depth + 1);
            }
        } else if (first == '"') {
            made.kind = Kind::text;
            in.get();
            for (int c = in.get(); c != '"'; c = in.get()) {
                expect(c != std::istream::traits_type::eof());
                if (c == '\\') append(made.string, in);
                else made.string += char(c);
            }
        } else if (first == 't' || first == 'f' || first == 'n') {
            std::string word;
            while (in.peek() >= 'a' && in.peek() <= 'z') word += char(in.get());
            expect(word == "true" || word == "false" || word == "null");
            made.kind = word == "null" ? Kind::null : Kind::boolean;
            made.scalar = word == "true";
        } else {
            made.kind = Kind::number;
            in >> made.scalar;
            expect(!in.fail());
        }
        return made;
    }
    /// Appends what an escape stands for, in UTF-8; its backslash is read.
    static void append(std::string& to, std::istream& in) {
        const char c = char(in.get());
        const std::string letters = "bfnrt", codes = "\b\f\n\r\t";
        if (c != 'u') {
            const std::size_t at = letters.find(c);
            to += at == std::string::npos ? c : codes[at];
            return;
        }
        unsigned long code = hexadecimal(in);
        if (code >= 0xD800 && code < 0xDC00) { // the first half of a surrogate pair
            expect(in.get() == '\\' && in.get() == 'u');
            code = 0x10000 + ((code - 0xD800) << 10) + ((hexadecimal(in) - 0xDC00) & 0x3FF);
        }
        const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; // bytes after the first
        to += char(more == 0 ? code : ((0xFF00 >> (more + 1)) & 0xFF) | (code >> (6 * more)));
        for (int left = more; left-- > 0;) to += char(0x80 | ((code >> (6 * left)) & 0x3F));
    }
    static unsigned long hexadecimal(std::istream& in) {
        char digits[5] = {};
        in.read(digits, 4);
        expect(std::string(digits).find_first_not_of("0123456789abcdefABCDEF") == std::string::npos && in.good());
        return std::stoul(digits, nullptr, 16);
    }
};

} // namespace dermis
