// Computes the weights of morph targets from the table of `dermis export drivers`: of a joint model or a pose space.
// Equations and names are those of docs/drivers.md. C# 7, in .NET and Unity. It needs DermisPoseSpace.cs,
// DermisRotation.cs and DermisJson.cs; DermisMorphs.cs is the component for Unity.
//
//   var drivers = new Dermis.Drivers(Dermis.Json.Parse(text));
//   double[] weights = drivers.Weights(bone => WorldMatrix(bone));
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dermis
{
    public sealed class Drivers
    {
        /// <summary>The bones that the table reads, and the morph targets in the order of the weights.</summary>
        public readonly string[] Bones, Shapes;

        readonly double[][][] inverseBind;
        readonly double[] offset, clamp;
        readonly PoseSpace poseSpace; // that of the sculpts of a joint model; null for one without
        readonly double length, sigma, arcCosine;
        readonly List<Joint> joints = new List<Joint>();
        readonly List<Seeing> gravity = new List<Seeing>();
        readonly double[] down;
        readonly double[][] matrix = { };

        sealed class Joint
        {
            public int From, To;
            public double[] Centre; // null: the rotation alone is read, and the slide is zero
            public double[] AtBind; // g(0, ψ) − 1 of every ψ, which does not depend on the pose
            public double Limit;
            public double[][] Inducing, InverseFactor;
        }

        sealed class Seeing // a bone that sees down
        {
            public int Bone;
            public double Limit;
        }

        /// <summary>Throws FormatException for a table of an unknown kind, or one that contradicts itself.</summary>
        public Drivers(Json table)
        {
            Json.Demand(table["format"].Text == "dermis-drivers", "format is " + table["format"].Text);
            double version = table["version"].Number;
            string kind = table.Has("kind") ? table["kind"].Text : "";
            bool isJointModel = version == 1 || version == 4 || version == 5;
            bool isKnown = isJointModel || ((version == 2 || version == 3) && kind == "pose-space");
            Json.Demand(isKnown, "this reader does not know version " + version + " of kind \"" + kind + "\"");
            Bones = table["bones"].List.Select(bone => bone["name"].Text).ToArray();
            inverseBind = table["bones"].List.Select(bone => bone["inverse_bind"].Rows(3, 4, "inverse_bind")).ToArray();
            Shapes = table["shapes"].List.Select(shape => shape.Text).ToArray();
            offset = table["offset"].Numbers(Shapes.Length, "offset");
            clamp = table["clamp"].Numbers(2, "clamp");
            if (!isJointModel)
            {
                poseSpace = new PoseSpace(table, Bones.Length, Shapes.Length);
                return;
            }
            length = table["length"].Number;
            sigma = table["sigma"].Number;
            foreach (Json json in table["joints"].List) joints.Add(ReadJoint(json));
            bool hasSculpts = version == 4 || (version == 5 && table.Has("sculpts"));
            if (version == 5 && table.Has("arc_cosine")) arcCosine = table["arc_cosine"].Number;
            if (version == 5 && table.Has("gravity"))
            {
                down = table["gravity"]["down"].Numbers(3, "down");
                foreach (Json json in table["gravity"]["bones"].List)
                    gravity.Add(new Seeing { Bone = json["bone"].Index(Bones.Length, "a bone of gravity"), Limit = PoseSpace.Limit(json) });
            }
            // With sculpts the first shapes alone are those of the joints.
            int rows = !hasSculpts ? Shapes.Length : Math.Min(table["matrix"].List.Count, Shapes.Length);
            matrix = table["matrix"].Rows(rows, joints.Sum(joint => joint.Inducing.Length) + 3 * gravity.Count, "matrix");
            if (hasSculpts) poseSpace = new PoseSpace(table["sculpts"], Bones.Length, Shapes.Length);
        }

        /// <summary>
        /// Returns a weight for every name in Shapes. `worldOf(bone)` is the joint-to-world matrix of the bone of that
        /// name: 16 numbers, column by column, in the axes of the GLB. `channels` has values by name; one that it lacks
        /// is zero.
        /// </summary>
        public double[] Weights(Func<string, double[]> worldOf, IReadOnlyDictionary<string, double> channels = null)
        {
            var transforms = new double[Bones.Length][][];
            for (int bone = 0; bone < Bones.Length; bone++)
                transforms[bone] = Transform(worldOf(Bones[bone]), inverseBind[bone]);
            var weights = (double[])offset.Clone();
            double[] windows = weights.Select(weight => 1.0).ToArray();
            if (poseSpace != null) poseSpace.AddTo(weights, transforms, channels, windows);
            double[] z = joints.SelectMany(joint => CoordinatesOf(joint, transforms))
                .Concat(gravity.SelectMany(seeing => DownSeen(seeing, transforms[seeing.Bone]))).ToArray();
            for (int i = 0; i < matrix.Length; i++) weights[i] += Numbers.Dot(matrix[i], z);
            for (int i = 0; i < weights.Length; i++)
            {
                // A bone scaled to zero has no inverse. NaN would hide the mesh; the bind pose's weight replaces it.
                bool isFinite = !double.IsNaN(weights[i]) && !double.IsInfinity(weights[i]);
                weights[i] = windows[i] * Numbers.Between(clamp[0], isFinite ? weights[i] : offset[i], clamp[1]);
            }
            return weights;
        }

        static double[][] Transform(double[] world, double[][] inverseBind)
        {
            var m = new double[3][];
            for (int r = 0; r < 3; r++)
            {
                m[r] = new double[4];
                for (int c = 0; c < 4; c++)
                {
                    m[r][c] = c == 3 ? world[12 + r] : 0;
                    for (int k = 0; k < 3; k++) m[r][c] += world[4 * k + r] * inverseBind[k][c];
                }
            }
            return m;
        }

        Joint ReadJoint(Json json)
        {
            var factor = json["inverse_factor"].List;
            var joint = new Joint
            {
                From = json["from"].Index(Bones.Length, "from of a joint"),
                To = json["to"].Index(Bones.Length, "to of a joint"),
                Centre = json["centre"].IsNull ? null : json["centre"].Numbers(3, "centre of a joint"),
                Limit = PoseSpace.Limit(json),
                Inducing = json["inducing"].Rows(factor.Count, 12, "inducing of a joint"),
                InverseFactor = factor.Select((row, i) => row.Numbers(i + 1, "a row of inverse_factor")).ToArray(),
            };
            joint.AtBind = joint.Inducing.Select(psi => GMinusOne(new double[12], psi)).ToArray();
            return joint;
        }

        double[] CoordinatesOf(Joint joint, double[][][] transforms)
        {
            double[][] a = transforms[joint.From], b = transforms[joint.To];
            double[][] inverse = Numbers.Inverse(a), rotation = Numbers.Product(inverse, b);
            double[] apart = { b[0][3] - a[0][3], b[1][3] - a[1][3], b[2][3] - a[2][3] };
            var phi = new double[12];
            for (int r = 0; r < 3; r++)
            {
                rotation[r][r] -= 1;
                for (int c = 0; c < 3; c++) phi[4 * r + c] = rotation[r][c] / Math.Sqrt(2);
                if (joint.Centre == null) continue;
                phi[4 * r + 3] = Numbers.Dot(inverse[r], apart) / length + Numbers.Dot(rotation[r], joint.Centre);
            }
            phi = Numbers.Limited(phi, joint.Limit);
            double toOrigin = GMinusOne(phi, new double[12]);
            var k = new double[joint.Inducing.Length];
            for (int i = 0; i < k.Length; i++)
                k[i] = Kernel(sigma * sigma / 2 * (GMinusOne(phi, joint.Inducing[i]) - toOrigin - joint.AtBind[i]), phi, joint.Inducing[i]);
            return joint.InverseFactor.Select(row => Numbers.Dot(row, k)).ToArray();
        }

        /// <summary>The Gaussian kernel of two features, with its share of the arc-cosine kernel of order one.</summary>
        double Kernel(double gaussian, double[] x, double[] y)
        {
            if (arcCosine == 0) return gaussian;
            double lengths = Math.Sqrt(Numbers.Dot(x, x) * Numbers.Dot(y, y));
            if (lengths == 0) return 0;
            double cosine = Numbers.Between(-1, Numbers.Dot(x, y) / lengths, 1), angle = Math.Acos(cosine);
            return (1 - arcCosine) * gaussian + arcCosine * lengths * (Math.Sin(angle) + (Math.PI - angle) * cosine) / Math.PI;
        }

        /// <summary>Where down is, as the axes of a bone see it, less what they see at the bind pose.</summary>
        double[] DownSeen(Seeing seeing, double[][] m)
        {
            var seen = new double[3];
            for (int axis = 0; axis < 3; axis++)
            {
                double[] column = { m[0][axis], m[1][axis], m[2][axis] };
                double size = Math.Sqrt(Numbers.Dot(column, column));
                seen[axis] = size > 0 ? Numbers.Dot(column, down) / size - down[axis] : 0;
            }
            return Numbers.Limited(seen, seeing.Limit);
        }

        /// <summary>The ones of g(φ, ψ) − g(φ, 0) − g(0, ψ) + 1 cancel. Double precision needs no expm1.</summary>
        double GMinusOne(double[] x, double[] y)
        {
            return Math.Exp(-Numbers.SquaredDistance(x, y, 0, 12) / (sigma * sigma)) - 1;
        }
    }
}
