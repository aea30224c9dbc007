// Just enough JSON for driver tables: a document becomes a tree of values. C# 7, in .NET and Unity.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace Dermis
{
    /// <summary>A value. What is read from a value of another kind throws FormatException.</summary>
    public sealed class Json
    {
        readonly object content; // null, bool, double, string, List<Json> or Dictionary<string, Json>

        Json(object content) => this.content = content;

        public static Json Parse(string text)
        {
            var parser = new Parser { Text = text };
            var document = parser.Value(0);
            parser.Expect(parser.Peek() == '\0');
            return document;
        }

        public bool IsNull => content == null;
        public bool Boolean => Of<bool>("true or false");
        public double Number => Of<double>("a number");
        public string Text => Of<string>("a text");
        public List<Json> List => Of<List<Json>>("a list");
        public Dictionary<string, Json> Members => Of<Dictionary<string, Json>>("an object");
        public bool Has(string key) => Members.ContainsKey(key);
        public Json this[string key] => Has(key) ? Members[key] : throw Refusal("there is no field " + key);

        /// <summary>A place in a list of `count` things.</summary>
        public int Index(int count, string what)
        {
            bool isThere = Number >= 0 && Number < count && Number == Math.Floor(Number);
            Demand(isThere, what + " names one that is not there");
            return (int)Number;
        }

        public double[] Numbers(int count, string what)
        {
            Demand(List.Count == count, what + ": " + List.Count + " instead of " + count);
            return List.Select(item => item.Number).ToArray();
        }

        public double[][] Rows(int count, int size, string what)
        {
            Demand(List.Count == count, what + ": " + List.Count + " instead of " + count);
            return List.Select(item => item.Numbers(size, what)).ToArray();
        }

        public static void Demand(bool isRight, string reason)
        {
            if (!isRight) throw Refusal(reason);
        }

        static FormatException Refusal(string reason) => new FormatException("driver table: " + reason);
        T Of<T>(string name) => content is T wanted ? wanted : throw Refusal(name + " is expected, not something else");

        sealed class Parser
        {
            public string Text;
            int at;

            public void Expect(bool isRight) => Demand(isRight, "this is not JSON, at character " + at);

            /// <summary>The next character that is no space, or '\0' at the end.</summary>
            public char Peek()
            {
                while (at < Text.Length && char.IsWhiteSpace(Text[at])) at++;
                return at < Text.Length ? Text[at] : '\0';
            }

            public Json Value(int depth)
            {
                Expect(depth < 64);
                char first = Peek();
                if (first == '{') return new Json(Object(depth));
                if (first == '[') return new Json(Items(depth));
                if (first == '"') return new Json(Quoted());
                int start = at;
                while (at < Text.Length && (char.IsLetterOrDigit(Text[at]) || "+-.".IndexOf(Text[at]) >= 0)) at++;
                string word = Text.Substring(start, at - start);
                if (word == "null") return new Json(null);
                if (word == "true" || word == "false") return new Json(word == "true");
                Expect(double.TryParse(word, NumberStyles.Float, CultureInfo.InvariantCulture, out double number));
                Expect(!double.IsNaN(number) && !double.IsInfinity(number));
                return new Json(number);
            }

            List<Json> Items(int depth)
            {
                var items = new List<Json>();
                Separated(']', () => items.Add(Value(depth + 1)));
                return items;
            }

            Dictionary<string, Json> Object(int depth)
            {
                var members = new Dictionary<string, Json>();
                Separated('}', () =>
                {
                    Expect(Peek() == '"');
                    string key = Quoted();
                    Expect(Peek() == ':');
                    at++;
                    members[key] = Value(depth + 1);
                });
                return members;
            }

            /// <summary>Reads from an opening bracket to `end`; `read` takes what stands between commas.</summary>
            void Separated(char end, Action read)
            {
                at++;
                if (Peek() == end) { at++; return; }
                for (char separator = ','; separator != end; at++)
                {
                    read();
                    separator = Peek();
                    Expect(separator == ',' || separator == end);
                }
            }

            string Quoted()
            {
                var text = new StringBuilder();
                for (at++; ; at++)
                {
                    Expect(at < Text.Length);
                    if (Text[at] == '"') break;
                    if (Text[at] != '\\') { text.Append(Text[at]); continue; }
                    Expect(++at < Text.Length);
                    int escape = "bfnrt".IndexOf(Text[at]);
                    if (Text[at] != 'u') { text.Append(escape < 0 ? Text[at] : "\b\f\n\r\t"[escape]); continue; }
                    Expect(at + 4 < Text.Length);
                    string digits = Text.Substring(at + 1, 4);
                    Expect(int.TryParse(digits, NumberStyles.HexNumber, CultureInfo.InvariantCulture, out int code));
                    text.Append((char)code);
                    at += 4;
                }
                at++;
                return text.ToString();
            }
        }
    }
}
