// The functions and structures of include/dermis.h, ABI version 1, for .NET, Mono and Unity. The header says what each does.
using System;
using System.Runtime.InteropServices;

namespace Dermis
{
    /// <summary>dermis.h as it is: statuses for errors, pointers for buffers.</summary>
    public static class Native
    {
        const string Library = "dermis_c";
        const CallingConvention C = CallingConvention.Cdecl;

        public const uint AbiVersion = 1;
        public const int Ok = 0;
        public const uint Columns4x4 = 1, Rows4x4 = 2, Columns3x4 = 3, Rows3x4 = 4;
        public const uint Float = 1, Double = 2;
        public const uint Skinning = 1, Posed = 2;

        /// <summary>DermisModel. A number, passed by value; zero is no model.</summary>
        public struct ModelHandle { public ulong Id; }

        /// <summary>DermisRunner. A number, passed by value; zero is no runner.</summary>
        public struct RunnerHandle { public ulong Id; }

        /// <summary>DermisModelInfo.</summary>
        [StructLayout(LayoutKind.Sequential)]
        public struct ModelInfo
        {
            public uint Vertices, Triangles, DrawnVertices, DrawnTriangles, Bones, Channels, NeedsBase, UpAxis;
            public double MetresPerUnit, CorrectionBound;
            public ulong Bytes;
        }

        /// <summary>DermisFloats.</summary>
        [StructLayout(LayoutKind.Sequential)]
        public struct Floats
        {
            public IntPtr First;
            public UIntPtr Count, Stride;
        }

        /// <summary>DermisPose.</summary>
        [StructLayout(LayoutKind.Sequential)]
        public struct Pose
        {
            public IntPtr Matrices;
            public UIntPtr MatricesBytes, MatricesStride;
            public uint Bones, Layout, Numbers, Meaning;
            public IntPtr Base;
            public UIntPtr BaseFloats, BaseStride;
        }

        [DllImport(Library, CallingConvention = C)] public static extern IntPtr dermis_last_error();
        [DllImport(Library, CallingConvention = C)] public static extern uint dermis_abi_version();
        [DllImport(Library, CallingConvention = C)] public static extern IntPtr dermis_version();
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_read(uint abi, byte[] bytes, UIntPtr length, out ModelHandle model);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_open(uint abi, byte[] path, out ModelHandle model);
        [DllImport(Library, CallingConvention = C)] public static extern int dermis_model_free(ModelHandle model);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_info(ModelHandle model, out ModelInfo info);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_bone_name(ModelHandle model, uint bone, out IntPtr name);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_bone_parent(ModelHandle model, uint bone, out int parent);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_find_bone(ModelHandle model, byte[] name, out uint bone);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_bind_matrices(
            ModelHandle model, uint layout, uint numbers, UIntPtr stride, [Out] double[] matrices, UIntPtr bytes);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_rest_positions(ModelHandle model, ref Floats positions);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_triangles(ModelHandle model, [Out] uint[] vertices, UIntPtr count);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_drawn_vertices(ModelHandle model, [Out] uint[] vertices, UIntPtr count);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_drawn_triangles(ModelHandle model, [Out] uint[] vertices, UIntPtr count);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_channel_name(ModelHandle model, uint channel, out IntPtr name);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_model_file_axes(ModelHandle model, [Out] double[] axes);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_runner_new(ModelHandle model, uint threads, out RunnerHandle runner);
        [DllImport(Library, CallingConvention = C)] public static extern int dermis_runner_free(RunnerHandle runner);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_runner_set_axes(RunnerHandle runner, double[] axes);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_runner_set_channel(RunnerHandle runner, uint channel, double value);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_runner_evaluate(
            RunnerHandle runner, ref Pose pose, ref Floats positions, ref Floats normals);
        [DllImport(Library, CallingConvention = C)]
        public static extern int dermis_runner_distance(RunnerHandle runner, out double degrees, out int bone);
    }
}
