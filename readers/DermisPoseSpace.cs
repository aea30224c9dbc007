// The pose space of a driver table, version 2 or 3, or of the sculpts of version 4: coordinates of joints and channels, and the values of regions. C# 7.
using System;
using System.Collections.Generic;
using System.Linq;

namespace Dermis
{
    public sealed class PoseSpace
    {
        readonly string kernel;
        readonly double sigma;
        readonly bool linear;
        readonly Coordinates coordinates;
        readonly List<Joint> joints;
        readonly List<Channel> channels;
        readonly List<Region> regions;

        sealed class Joint { public int[][] Path; public double[] Axis; public double Limit; public Coordinates Kind; }

        sealed class Channel { public string Name; public double Scale, Limit; }

        sealed class Region
        {
            public int[] Parts, Sizes, Shapes; // coordinates, how many numbers each has, morph targets
            public double[] Relevance, AtBind; // AtBind: kernels between the bind pose and the centres
            public double[][] Centres, Matrix;
            public Window[] Windows; // one for each of the shapes, or none
        }

        sealed class Window { public int Centre; public double[] Relevance; }

        public PoseSpace(Json table, int bones, int shapes)
        {
            kernel = table["kernel"]["kind"].Text;
            sigma = table["kernel"]["sigma"].Number;
            linear = table["linear"].Boolean;
            Json kind = table["coordinates"];
            coordinates = new Coordinates { Kind = kind["kind"].Text };
            Json.Demand(coordinates.Size > 0, "this reader does not know coordinates " + coordinates.Kind);
            bool isKernel = kernel == "gaussian" || kernel == "wendland" || kernel == "polyharmonic";
            Json.Demand(isKernel, "this reader does not know kernel " + kernel);
            if (kind.Has("swing")) coordinates.Swing = kind["swing"].Number;
            if (kind.Has("twist")) coordinates.Twist = kind["twist"].Number;
            joints = table["joints"].List.Select(joint => new Joint
            {
                Path = joint["path"].List.Select(pair => Pair(pair, bones)).ToArray(),
                Axis = joint["axis"].Numbers(3, "axis of a joint"),
                Limit = Limit(joint),
                Kind = Part(joint),
            }).ToList();
            channels = table["channels"].List.Select(channel => new Channel
            {
                Name = channel["name"].Text,
                Scale = channel["scale"].Number,
                Limit = Limit(channel),
            }).ToList();
            regions = table["regions"].List.Select(region => ReadRegion(region, shapes)).ToList();
        }

        /// <summary>The largest length that a coordinate may have.</summary>
        public static double Limit(Json joint)
        {
            return joint["limit"].IsNull ? double.PositiveInfinity : joint["limit"].Number;
        }

        /// <summary>The coordinates of a joint: of a part of its rotation the scale of the other part is zero.</summary>
        Coordinates Part(Json joint)
        {
            if (!joint.Has("part")) return coordinates;
            string part = joint["part"].Text;
            bool isKnown = coordinates.Kind == "swing-twist" && (part == "swing" || part == "twist");
            Json.Demand(isKnown, "a joint reads the part " + part + " of coordinates " + coordinates.Kind);
            return new Coordinates
            {
                Kind = coordinates.Kind,
                Swing = part == "swing" ? coordinates.Swing : 0,
                Twist = part == "twist" ? coordinates.Twist : 0,
            };
        }

        static int[] Pair(Json pair, int bones)
        {
            Json.Demand(pair.List.Count == 2, "a pair of a path has not two bones");
            return pair.List.Select(bone => bone.Index(bones, "path of a joint")).ToArray();
        }

        Region ReadRegion(Json json, int shapes)
        {
            var relevance = json["relevance"].List;
            Json.Demand(relevance.All(pair => pair.List.Count == 2), "a pair of a relevance has not two numbers");
            int count = joints.Count + channels.Count;
            var region = new Region
            {
                Parts = relevance.Select(pair => pair.List[0].Index(count, "relevance of a region")).ToArray(),
                Relevance = relevance.Select(pair => pair.List[1].Number).ToArray(),
                Shapes = json["shapes"].List.Select(shape => shape.Index(shapes, "shapes of a region")).ToArray(),
            };
            region.Sizes = region.Parts.Select(part => part < joints.Count ? coordinates.Size : 1).ToArray();
            int size = region.Sizes.Sum(), centres = json["centres"].List.Count;
            int values = centres + (linear ? size : 0);
            region.Centres = json["centres"].Rows(centres, size, "centres of a region");
            region.Matrix = json["matrix"].Rows(region.Shapes.Length, values, "matrix of a region");
            region.Windows = !json.Has("windows") ? new Window[0] : json["windows"].List.Select(window => new Window
            {
                Centre = window["centre"].Index(centres, "centre of a window"),
                Relevance = window["relevance"].Numbers(relevance.Count, "relevance of a window"),
            }).ToArray();
            bool hasAll = region.Windows.Length == 0 || region.Windows.Length == region.Shapes.Length;
            Json.Demand(hasAll, "a region has not a window per shape");
            region.AtBind = region.Centres.Select(centre => Phi(region, new double[size], centre)).ToArray();
            return region;
        }

        /// <summary>Adds the values of all regions, times their matrices, to the weights; multiplies the windows of shapes.</summary>
        public void AddTo(
            double[] weights, double[][][] transforms, IReadOnlyDictionary<string, double> values, double[] windows)
        {
            var x = new List<double[]>();
            foreach (Joint joint in joints)
            {
                double[][] q = Numbers.Matrix((r, c) => r == c ? 1 : 0);
                foreach (int[] pair in joint.Path)
                    q = Numbers.Product(q, Numbers.Product(Numbers.Inverse(transforms[pair[0]]), transforms[pair[1]]));
                x.Add(Numbers.Limited(joint.Kind.Of(q, joint.Axis), joint.Limit));
            }
            foreach (Channel channel in channels)
            {
                double value = 0;
                if (values != null) values.TryGetValue(channel.Name, out value);
                x.Add(Numbers.Limited(new[] { channel.Scale * value }, channel.Limit));
            }
            foreach (Region region in regions)
            {
                double[] here = region.Parts.SelectMany(part => x[part]).ToArray();
                double toOrigin = Phi(region, here, new double[here.Length]);
                var kappa = new List<double>();
                for (int i = 0; i < region.Centres.Length; i++)
                {
                    double toCentre = Phi(region, here, region.Centres[i]), atBind = region.AtBind[i];
                    bool isSum = kernel == "polyharmonic";
                    kappa.Add(isSum ? (toCentre - toOrigin - atBind) / 2 : toCentre - toOrigin * atBind);
                }
                if (linear)
                    for (int n = 0; n < region.Parts.Length; n++)
                        kappa.AddRange(x[region.Parts[n]].Select(number => Math.Sqrt(region.Relevance[n]) * number));
                double[] all = kappa.ToArray();
                for (int i = 0; i < region.Shapes.Length; i++)
                    weights[region.Shapes[i]] += Numbers.Dot(region.Matrix[i], all);
                for (int i = 0; i < region.Windows.Length; i++)
                    windows[region.Shapes[i]] *= At(region, region.Windows[i], here);
            }
        }

        /// <summary>A window: one up to r = 3/4, zero from r = 1, and smooth between.</summary>
        static double At(Region region, Window window, double[] here)
        {
            double square = 0;
            for (int n = 0, at = 0; n < region.Parts.Length; at += region.Sizes[n++])
            {
                double distance = Numbers.SquaredDistance(here, region.Centres[window.Centre], at, region.Sizes[n]);
                square += window.Relevance[n] * distance;
            }
            double t = Numbers.Between(0, 4 * Math.Sqrt(square) - 3, 1);
            return 1 - t * t * (3 - 2 * t);
        }

        /// <summary>The kernel of two points, each with the numbers of all coordinates of the region.</summary>
        double Phi(Region region, double[] x, double[] y)
        {
            double sum = 0, product = 1;
            for (int n = 0, at = 0; n < region.Parts.Length; at += region.Sizes[n++])
            {
                double distance = Numbers.SquaredDistance(x, y, at, region.Sizes[n]);
                double square = region.Relevance[n] * distance / (sigma * sigma), r = Math.Sqrt(square);
                sum += square;
                product *= r < 1 ? Math.Pow(1 - r, 7) * (7 * r + 1) : 0;
            }
            return kernel == "gaussian" ? Math.Exp(-sum) : kernel == "wendland" ? product : -Math.Sqrt(sum);
        }
    }
}
