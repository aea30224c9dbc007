// Matrices of three rows, and the coordinate of a joint in a pose space: step 3 of docs/drivers.md. C# 7.
using System;

namespace Dermis
{
    /// <summary>Lists of numbers, and matrices of three rows; only the first three columns of a row count.</summary>
    public static class Numbers
    {
        /// <summary>The inner product over the length of `a`.</summary>
        public static double Dot(double[] a, double[] b)
        {
            double sum = 0;
            for (int i = 0; i < a.Length; i++) sum += a[i] * b[i];
            return sum;
        }

        /// <summary>The squared distance of `count` numbers of each list, from `at`.</summary>
        public static double SquaredDistance(double[] a, double[] b, int at, int count)
        {
            double sum = 0;
            for (int i = at; i < at + count; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
            return sum;
        }

        /// <summary>Scales x to the length `limit` if it is longer.</summary>
        public static double[] Limited(double[] x, double limit)
        {
            double norm = Math.Sqrt(Dot(x, x));
            return norm > limit ? Array.ConvertAll(x, number => number * (limit / norm)) : x;
        }

        public static double Between(double least, double x, double largest)
        {
            return Math.Min(Math.Max(x, least), largest);
        }

        /// <summary>A matrix of three rows from its entries.</summary>
        public static double[][] Matrix(Func<int, int, double> entry)
        {
            var rows = new double[3][];
            for (int r = 0; r < 3; r++) rows[r] = new[] { entry(r, 0), entry(r, 1), entry(r, 2) };
            return rows;
        }

        public static double[][] Product(double[][] a, double[][] b)
        {
            return Matrix((r, c) => a[r][0] * b[0][c] + a[r][1] * b[1][c] + a[r][2] * b[2][c]);
        }

        public static double[][] Inverse(double[][] m)
        {
            double[][] columns = { Cross(m[1], m[2]), Cross(m[2], m[0]), Cross(m[0], m[1]) };
            double determinant = Dot(columns[0], m[0]);
            return Matrix((r, c) => columns[c][r] / determinant);
        }

        static double[] Cross(double[] a, double[] b)
        {
            return new[] { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
        }
    }

    /// <summary>The kind of the coordinates of a table.</summary>
    public sealed class Coordinates
    {
        public string Kind;
        public double Swing, Twist;

        /// <summary>How many numbers a coordinate has; 0 for a kind that is not known.</summary>
        public int Size
            => Kind == "chord" ? 9 : Kind == "swing-twist" ? 5 : Kind == "euler" || Kind == "rotation-vector" ? 3 : 0;

        /// <summary>Returns the coordinate of Q. `axis` is the joint's.</summary>
        public double[] Of(double[][] q, double[] axis)
        {
            if (Kind == "chord")
            {
                var chord = new double[9];
                for (int i = 0; i < 9; i++) chord[i] = (q[i % 3][i / 3] - (i % 3 == i / 3 ? 1 : 0)) / Math.Sqrt(2);
                return chord;
            }
            double[][] m = NearestRotation(q);
            if (Kind == "euler")
            {
                double sine = Numbers.Between(-1, -m[2][0], 1); // rounding may leave the domain of Asin
                return new[] { Math.Atan2(m[2][1], m[2][2]), Math.Asin(sine), Math.Atan2(m[1][0], m[0][0]) };
            }
            double[] wxyz = Quaternion(m);
            double w = wxyz[0];
            double[] v = { wxyz[1], wxyz[2], wxyz[3] };
            if (Kind == "rotation-vector")
            {
                double norm = Math.Sqrt(Numbers.Dot(v, v));
                return Array.ConvertAll(v, x => norm == 0 ? 0 : x / norm * 2 * Math.Atan2(norm, w));
            }
            double along = Numbers.Dot(v, axis), n = Math.Sqrt(along * along + w * w);
            double h = n < 1e-12 ? 0 : along / n, g = n < 1e-12 ? 1 : w / n;
            double[] swing = Array.ConvertAll(m, row => Swing * Numbers.Dot(axis, row));
            return new[]
            {
                swing[0] - Swing * axis[0], swing[1] - Swing * axis[1], swing[2] - Swing * axis[2],
                -2 * h * h * Twist, 2 * h * g * Twist,
            };
        }

        /// <summary>The orthogonal polar factor. Newton's iteration squares its error.</summary>
        static double[][] NearestRotation(double[][] q)
        {
            double change = 1;
            for (int step = 0; step < 50 && change > 1e-9; step++)
            {
                double[][] before = q, inverse = Numbers.Inverse(q);
                q = Numbers.Matrix((r, c) => (before[r][c] + inverse[c][r]) / 2);
                change = 0;
                for (int i = 0; i < 9; i++) change += Math.Abs(q[i / 3][i % 3] - before[i / 3][i % 3]);
            }
            return q;
        }

        /// <summary>(w, x, y, z) with w ≥ 0, from the longest row of 4 q qᵀ: accurate at every angle.</summary>
        static double[] Quaternion(double[][] m)
        {
            double xy = m[0][1] + m[1][0], yz = m[1][2] + m[2][1], zx = m[2][0] + m[0][2];
            double wx = m[2][1] - m[1][2], wy = m[0][2] - m[2][0], wz = m[1][0] - m[0][1];
            double x = m[0][0], y = m[1][1], z = m[2][2];
            double[][] rows =
            {
                new[] { 1 + x + y + z, wx, wy, wz },
                new[] { wx, 1 + x - y - z, xy, zx },
                new[] { wy, xy, 1 - x + y - z, yz },
                new[] { wz, zx, yz, 1 - x - y + z },
            };
            double[] longest = rows[0];
            foreach (double[] row in rows)
                if (Numbers.Dot(row, row) > Numbers.Dot(longest, longest)) longest = row;
            double length = Math.Sqrt(Numbers.Dot(longest, longest)) * (longest[0] < 0 ? -1 : 1);
            return Array.ConvertAll(longest, number => number / length);
        }
    }
}
