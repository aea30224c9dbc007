/*
 * Dermis from C: a learnt skin, evaluated from bone matrices.
 *
 * Made from crates/dermis-c/src; docs/c.md has a complete program.
 *
 * Every function that can fail returns a status. DERMIS_OK is 0; dermis_last_error() has the words of any other.
 * A pointer is NULL or points to what its type says, and a buffer has the length that stands beside it: the library
 * checks both, and cannot check that they are true. No other thread may write to them during a call.
 * A model may be used by any number of threads at once, a runner by one at a time.
 */


#ifndef DERMIS_H
#define DERMIS_H

#include <stddef.h>
#include <stdint.h>

/*
 The version of this interface. A library of another version refuses the caller.

 The version grows when a function or structure changes. Functions and codes that are added leave it as it is.
 */
#define DERMIS_ABI_VERSION 1

/*
 16 numbers, column after column; the translation in numbers 12, 13, 14. OpenGL, Unity; also the matrices of
 engines that multiply row vectors and store rows (Unreal, Direct3D).
 */
#define DERMIS_COLUMNS_4X4 1

/*
 16 numbers, row after row, of a matrix that multiplies column vectors; the translation in numbers 3, 7, 11. NumPy.
 */
#define DERMIS_ROWS_4X4 2

/*
 12 numbers, four columns of three; the translation in numbers 9, 10, 11.
 */
#define DERMIS_COLUMNS_3X4 3

/*
 12 numbers, three rows of four; the translation in numbers 3, 7, 11. Constant buffers of shaders.
 */
#define DERMIS_ROWS_3X4 4

/*
 Numbers of 4 bytes: float.
 */
#define DERMIS_FLOAT 1

/*
 Numbers of 8 bytes: double.
 */
#define DERMIS_DOUBLE 2

/*
 Skinning matrices M = T B^-1, which carry the rest mesh to its pose: the identity at rest.
 */
#define DERMIS_SKINNING 1

/*
 Joint-to-world matrices T of the pose, in the model's own axes: the bind matrix B at rest.
 */
#define DERMIS_POSED 2

/*
 Y points up in the rig's file.
 */
#define DERMIS_UP_Y 1

/*
 Z points up in the rig's file.
 */
#define DERMIS_UP_Z 2

/*
 How a call ended: DERMIS_OK, or one of the DERMIS_ERROR_ codes.
 */
typedef int32_t DermisStatus;

/*
 A model. Zero is no model.
 */
typedef struct DermisModel {
    /*
     Its number, given once in a process.
     */
    uint64_t id;
} DermisModel;

/*
 What a model is made of.
 */
typedef struct DermisModelInfo {
    /*
     Vertices of the mesh as authored: a vertex that a file splits at seams is one vertex here.
     */
    uint32_t vertices;
    /*
     Triangles over these vertices.
     */
    uint32_t triangles;
    /*
     Vertices as the rig's file draws them, split at seams; 0 if it draws those of the mesh.
     */
    uint32_t drawn_vertices;
    /*
     Triangles over the drawn vertices; 0 if the file draws those of the mesh.
     */
    uint32_t drawn_triangles;
    /*
     Bones.
     */
    uint32_t bones;
    /*
     Channels that the model reads: numbers of a pose other than joints.
     */
    uint32_t channels;
    /*
     1 if every pose must come with positions that the model corrects, 0 if the model has its own.
     */
    uint32_t needs_base;
    /*
     The axis that points up in the rig's file: DERMIS_UP_Y or DERMIS_UP_Z.
     */
    uint32_t up_axis;
    /*
     Length of the unit of the rig's file, in metres.
     */
    double metres_per_unit;
    /*
     The farthest that the correction can move any vertex from its base in any pose, in metres. 0 for a model without
     correction, infinite for one without the guard.
     */
    double correction_bound;
    /*
     Bytes of the arrays that evaluation reads, the rest mesh apart.
     */
    uint64_t bytes;
} DermisModelInfo;

/*
 Room for three floats per vertex, in memory of the caller.

 The library writes x, y, z of vertex v at the address `first` + v * `stride`, and no other byte. Two outputs of one call may
 lie interleaved in one buffer.
 */
typedef struct DermisFloats {
    /*
     x of the first vertex.
     */
    float *first;
    /*
     How many floats there are from `first` to the end of the buffer, those between the vertices included.
     */
    size_t floats;
    /*
     Bytes from one vertex to the next, a multiple of 4 and at least 12. 0 stands for 12: vertices without gaps.
     */
    size_t stride;
} DermisFloats;

/*
 A runner of a model. Zero is no runner.
 */
typedef struct DermisRunner {
    /*
     Its number, given once in a process.
     */
    uint64_t id;
} DermisRunner;

/*
 A pose: one matrix per bone, in the order of the model's bones, and for some models positions to correct.

 Set the whole structure to zero first: layout, numbers and meaning then fail where they are forgotten.
 */
typedef struct DermisPose {
    /*
     The first matrix, at any address.
     */
    const void *matrices;
    /*
     Bytes from the first matrix to the end of the buffer.
     */
    size_t matrices_bytes;
    /*
     Bytes from one matrix to the next, a multiple of the size of a number. 0 stands for matrices without gaps.
     */
    size_t matrices_stride;
    /*
     How many matrices there are: the model's bones.
     */
    uint32_t bones;
    /*
     Order of the numbers of a matrix: DERMIS_COLUMNS_4X4, DERMIS_ROWS_4X4, DERMIS_COLUMNS_3X4 or DERMIS_ROWS_3X4. The last row
     of a 4x4 matrix must be 0 0 0 1.
     */
    uint32_t layout;
    /*
     DERMIS_FLOAT or DERMIS_DOUBLE.
     */
    uint32_t numbers;
    /*
     DERMIS_SKINNING (T B^-1, rest to posed) or DERMIS_POSED (T, joint to posed world).
     */
    uint32_t meaning;
    /*
     x of the first vertex that the model corrects, for models whose needs_base is 1; NULL for others.
     */
    const float *base;
    /*
     How many floats there are from `base` to the end of its buffer.
     */
    size_t base_floats;
    /*
     Bytes from one base vertex to the next, a multiple of 4 and at least 12. 0 stands for 12.
     */
    size_t base_stride;
} DermisPose;

/*
 The call did what it says.
 */
#define DERMIS_OK 0

/*
 The caller was compiled with a header of another ABI version.
 */
#define DERMIS_ERROR_ABI 1

/*
 A pointer that must not be NULL is NULL.
 */
#define DERMIS_ERROR_NULL 2

/*
 The handle is zero, or of an object that was freed, or of an object of another kind.
 */
#define DERMIS_ERROR_HANDLE 3

/*
 Another thread is using the runner.
 */
#define DERMIS_ERROR_BUSY 4

/*
 The file cannot be opened or read.
 */
#define DERMIS_ERROR_FILE 5

/*
 The bytes are no model, or a damaged one, or one of a newer program.
 */
#define DERMIS_ERROR_MODEL 6

/*
 There is no bone or channel of that number or name.
 */
#define DERMIS_ERROR_NOT_FOUND 7

/*
 The pose has another number of bones than the model, or the base another number of vertices.
 */
#define DERMIS_ERROR_COUNT 8

/*
 A buffer is shorter than what is read from it or written to it.
 */
#define DERMIS_ERROR_BUFFER 9

/*
 A stride is smaller than one element, or no multiple of the size of a number.
 */
#define DERMIS_ERROR_STRIDE 10

/*
 A pointer to floats or integers is not aligned to 4 bytes.
 */
#define DERMIS_ERROR_ALIGNMENT 11

/*
 A number is NaN or infinite, or out of the range that its description names, or a text is not UTF-8.
 */
#define DERMIS_ERROR_VALUE 12

/*
 The threads of a runner cannot be started, or the process was forked after they were.
 */
#define DERMIS_ERROR_THREADS 13

/*
 The library failed in a way that it should not. The message helps to report it.
 */
#define DERMIS_ERROR_INTERNAL 14

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/*
 Returns what the last call that failed on this thread said, in English, as UTF-8; an empty text if none failed.

 The text lives until the next call that fails on this thread, or until the thread ends. Never NULL.
 */
const char *dermis_last_error(void);

/*
 Returns the version of the library's interface, to be compared with DERMIS_ABI_VERSION of the header.
 */
uint32_t dermis_abi_version(void);

/*
 Returns the version of the library, such as "0.1.0". Never NULL.
 */
const char *dermis_version(void);

/*
 Reads a model from the bytes of a model file (.dermis). The bytes are not needed afterwards.

 `abi`: DERMIS_ABI_VERSION, as the caller's header has it. `bytes`: `length` bytes. `model`: where the handle goes. If the call
 fails, the handle is zero.
 */
DermisStatus dermis_model_read(uint32_t abi,
                               const uint8_t *bytes,
                               size_t length,
                               struct DermisModel *model);

/*
 Opens a model file (.dermis) by its path.

 `abi`: DERMIS_ABI_VERSION, as the caller's header has it. `path`: UTF-8. `model`: where the handle goes. If the call fails, the
 handle is zero.
 */
DermisStatus dermis_model_open(uint32_t abi,
                               const char *path,
                               struct DermisModel *model);

/*
 Frees a model. Runners of it go on: they hold what they need. A handle of zero is ignored.
 */
DermisStatus dermis_model_free(struct DermisModel model);

/*
 Tells what a model is made of.
 */
DermisStatus dermis_model_info(struct DermisModel model, struct DermisModelInfo *info);

/*
 Tells the name of a bone, as UTF-8. A zero byte within a name is told as U+FFFD.

 `name` receives a text that lives until the model is freed.
 */
DermisStatus dermis_model_bone_name(struct DermisModel model, uint32_t bone, const char **name);

/*
 Tells the parent of a bone: -1 for a root. Parents come before their children.
 */
DermisStatus dermis_model_bone_parent(struct DermisModel model, uint32_t bone, int32_t *parent);

/*
 Finds a bone by its name, the first if several have it.
 */
DermisStatus dermis_model_find_bone(struct DermisModel model, const char *name, uint32_t *bone);

/*
 Writes the bind matrices B: joint to world at rest, in the model's axes (Y up, metres, right-handed), one per bone.

 `layout`: DERMIS_COLUMNS_4X4 and so on. `numbers`: DERMIS_FLOAT or DERMIS_DOUBLE. `stride`: bytes from one matrix to the next, 0
 for matrices without gaps. `bytes`: size of the buffer.
 */
DermisStatus dermis_model_bind_matrices(struct DermisModel model,
                                        uint32_t layout,
                                        uint32_t numbers,
                                        size_t stride,
                                        void *matrices,
                                        size_t bytes);

/*
 Writes the rest positions in the model's axes (Y up, metres, right-handed), one per vertex.
 */
DermisStatus dermis_model_rest_positions(struct DermisModel model, const struct DermisFloats *positions);

/*
 Writes the triangles: three vertices each, counter-clockwise seen from outside.

 `count`: numbers that the buffer has room for, at least 3 times the triangles.
 */
DermisStatus dermis_model_triangles(struct DermisModel model, uint32_t *vertices, size_t count);

/*
 Writes for every drawn vertex the vertex of the mesh that it hangs on: after an evaluation, an engine copies that vertex.
 Nothing is written if the file draws the vertices of the mesh themselves.

 `count`: numbers that the buffer has room for, at least the drawn vertices.
 */
DermisStatus dermis_model_drawn_vertices(struct DermisModel model,
                                         uint32_t *vertices,
                                         size_t count);

/*
 Writes the triangles over drawn vertices, three vertices each. Nothing is written if the file draws the mesh itself.

 `count`: numbers that the buffer has room for, at least 3 times the drawn triangles.
 */
DermisStatus dermis_model_drawn_triangles(struct DermisModel model,
                                          uint32_t *vertices,
                                          size_t count);

/*
 Tells the name of a channel that the model reads, as UTF-8.

 `name` receives a text that lives until the model is freed.
 */
DermisStatus dermis_model_channel_name(struct DermisModel model, uint32_t channel, const char **name);

/*
 Tells the axes and the unit of the rig's file, as dermis_runner_set_axes takes them: positions and matrices are then those of the file.
 */
DermisStatus dermis_model_file_axes(struct DermisModel model,
                                    double *axes);

/*
 Makes a runner of a model: one per thread that evaluates. It holds the model, which may be freed before it.

 `threads`: 0 evaluates on threads that all such runners of the process share, as many as the machine has. Any other number
 starts as many threads for this runner alone; with 1, all work is done by one thread after the other. The calling thread waits.
 The result does not depend on it. A process that was forked has no threads of its parent: make runners with `threads` > 0 in it.
 `runner`: where the handle goes. If the call fails, the handle is zero.
 */
DermisStatus dermis_runner_new(struct DermisModel model,
                               uint32_t threads,
                               struct DermisRunner *runner);

/*
 Frees a runner, after the call that uses it, if there is one. A handle of zero is ignored.
 */
DermisStatus dermis_runner_free(struct DermisRunner runner);

/*
 Sets the axes and unit of everything that goes in and comes out of a runner: matrices, base, positions and normals.

 `axes`: nine numbers, row after row, of the matrix A that carries positions of the caller to positions of the model (Y up,
 metres, right-handed): a rotation or a reflection times the caller's unit in metres. NULL sets the model's own axes again.
 Unity: -1 0 0, 0 1 0, 0 0 1. Unreal, centimetres: 0.01 0 0, 0 0 0.01, 0 0.01 0. Both for rigs that their glTF importers read.
 With axes, poses are skinning matrices (DERMIS_SKINNING). A reflection turns triangles over: exchange two corners of each.
 */
DermisStatus dermis_runner_set_axes(struct DermisRunner runner,
                                    const double *axes);

/*
 Sets a channel of the poses to come. Channels are zero at first.

 `channel`: its number, in the order of dermis_model_channel_name.
 */
DermisStatus dermis_runner_set_channel(struct DermisRunner runner, uint32_t channel, double value);

/*
 Evaluates the model in a pose.

 `positions`: where the positions go. `normals`: where the unit normals of the deformed mesh go, or NULL for none; a vertex
 without faces of positive area gets (0, 1, 0) in the model's axes. All inputs are checked before anything is written. After
 the first pose the call allocates nothing.
 */
DermisStatus dermis_runner_evaluate(struct DermisRunner runner,
                                    const struct DermisPose *pose,
                                    const struct DermisFloats *positions,
                                    const struct DermisFloats *normals);

/*
 Tells how far the last pose is from those that the model was fitted on: a guess is worse the farther it is.

 `degrees`: the angle from the nearest training pose of the joint that is farthest from its own. `bone`: that joint's bone; -1 if
 the model has no training poses, and degrees are then 0. Either may be NULL.
 */
DermisStatus dermis_runner_distance(struct DermisRunner runner,
                                    double *degrees,
                                    int32_t *bone);

/*
 Returns what the last call that failed on this thread said, in English, as UTF-8; an empty text if none failed.

 The text lives until the next call that fails on this thread, or until the thread ends. Never NULL.
 */
const char *dermis_last_error(void);

/*
 Reads a model from the bytes of a model file (.dermis). The bytes are not needed afterwards.

 `abi`: DERMIS_ABI_VERSION, as the caller's header has it. `bytes`: `length` bytes. `model`: where the handle goes. If the call
 fails, the handle is zero.
 */
DermisStatus dermis_model_read(uint32_t abi,
                               const uint8_t *bytes,
                               size_t length,
                               struct DermisModel *model);

/*
 Opens a model file (.dermis) by its path.

 `abi`: DERMIS_ABI_VERSION, as the caller's header has it. `path`: UTF-8. `model`: where the handle goes. If the call fails, the
 handle is zero.
 */
DermisStatus dermis_model_open(uint32_t abi,
                               const char *path,
                               struct DermisModel *model);

/*
 Frees a model. Runners of it go on: they hold what they need. A handle of zero is ignored.
 */
DermisStatus dermis_model_free(struct DermisModel model);

/*
 Tells what a model is made of.
 */
DermisStatus dermis_model_info(struct DermisModel model, struct DermisModelInfo *info);

/*
 Tells the name of a bone, as UTF-8. A zero byte within a name is told as U+FFFD.

 `name` receives a text that lives until the model is freed.
 */
DermisStatus dermis_model_bone_name(struct DermisModel model, uint32_t bone, const char **name);

/*
 Tells the parent of a bone: -1 for a root. Parents come before their children.
 */
DermisStatus dermis_model_bone_parent(struct DermisModel model, uint32_t bone, int32_t *parent);

/*
 Finds a bone by its name, the first if several have it.
 */
DermisStatus dermis_model_find_bone(struct DermisModel model, const char *name, uint32_t *bone);

/*
 Writes the bind matrices B: joint to world at rest, in the model's axes (Y up, metres, right-handed), one per bone.

 `layout`: DERMIS_COLUMNS_4X4 and so on. `numbers`: DERMIS_FLOAT or DERMIS_DOUBLE. `stride`: bytes from one matrix to the next, 0
 for matrices without gaps. `bytes`: size of the buffer.
 */
DermisStatus dermis_model_bind_matrices(struct DermisModel model,
                                        uint32_t layout,
                                        uint32_t numbers,
                                        size_t stride,
                                        void *matrices,
                                        size_t bytes);

/*
 Writes the rest positions in the model's axes (Y up, metres, right-handed), one per vertex.
 */
DermisStatus dermis_model_rest_positions(struct DermisModel model, const struct DermisFloats *positions);

/*
 Writes the triangles: three vertices each, counter-clockwise seen from outside.

 `count`: numbers that the buffer has room for, at least 3 times the triangles.
 */
DermisStatus dermis_model_triangles(struct DermisModel model, uint32_t *vertices, size_t count);

/*
 Writes for every drawn vertex the vertex of the mesh that it hangs on: after an evaluation, an engine copies that vertex.
 Nothing is written if the file draws the vertices of the mesh themselves.

 `count`: numbers that the buffer has room for, at least the drawn vertices.
 */
DermisStatus dermis_model_drawn_vertices(struct DermisModel model,
                                         uint32_t *vertices,
                                         size_t count);

/*
 Writes the triangles over drawn vertices, three vertices each. Nothing is written if the file draws the mesh itself.

 `count`: numbers that the buffer has room for, at least 3 times the drawn triangles.
 */
DermisStatus dermis_model_drawn_triangles(struct DermisModel model,
                                          uint32_t *vertices,
                                          size_t count);

/*
 Tells the name of a channel that the model reads, as UTF-8.

 `name` receives a text that lives until the model is freed.
 */
DermisStatus dermis_model_channel_name(struct DermisModel model, uint32_t channel, const char **name);

/*
 Tells the axes and the unit of the rig's file, as dermis_runner_set_axes takes them: positions and matrices are then those of the file.
 */
DermisStatus dermis_model_file_axes(struct DermisModel model,
                                    double *axes);

/*
 Makes a runner of a model: one per thread that evaluates. It holds the model, which may be freed before it.

 `threads`: 0 evaluates on threads that all such runners of the process share, as many as the machine has. Any other number
 starts as many threads for this runner alone; with 1, all work is done by one thread after the other. The calling thread waits.
 The result does not depend on it. A process that was forked has no threads of its parent: make runners with `threads` > 0 in it.
 `runner`: where the handle goes. If the call fails, the handle is zero.
 */
DermisStatus dermis_runner_new(struct DermisModel model,
                               uint32_t threads,
                               struct DermisRunner *runner);

/*
 Frees a runner, after the call that uses it, if there is one. A handle of zero is ignored.
 */
DermisStatus dermis_runner_free(struct DermisRunner runner);

/*
 Sets the axes and unit of everything that goes in and comes out of a runner: matrices, base, positions and normals.

 `axes`: nine numbers, row after row, of the matrix A that carries positions of the caller to positions of the model (Y up,
 metres, right-handed): a rotation or a reflection times the caller's unit in metres. NULL sets the model's own axes again.
 Unity: -1 0 0, 0 1 0, 0 0 1. Unreal, centimetres: 0.01 0 0, 0 0 0.01, 0 0.01 0. Both for rigs that their glTF importers read.
 With axes, poses are skinning matrices (DERMIS_SKINNING). A reflection turns triangles over: exchange two corners of each.
 */
DermisStatus dermis_runner_set_axes(struct DermisRunner runner,
                                    const double *axes);

/*
 Sets a channel of the poses to come. Channels are zero at first.

 `channel`: its number, in the order of dermis_model_channel_name.
 */
DermisStatus dermis_runner_set_channel(struct DermisRunner runner, uint32_t channel, double value);

/*
 Evaluates the model in a pose.

 `positions`: where the positions go. `normals`: where the unit normals of the deformed mesh go, or NULL for none; a vertex
 without faces of positive area gets (0, 1, 0) in the model's axes. All inputs are checked before anything is written. After
 the first pose the call allocates nothing.
 */
DermisStatus dermis_runner_evaluate(struct DermisRunner runner,
                                    const struct DermisPose *pose,
                                    const struct DermisFloats *positions,
                                    const struct DermisFloats *normals);

/*
 Tells how far the last pose is from those that the model was fitted on: a guess is worse the farther it is.

 `degrees`: the angle from the nearest training pose of the joint that is farthest from its own. `bone`: that joint's bone; -1 if
 the model has no training poses, and degrees are then 0. Either may be NULL.
 */
DermisStatus dermis_runner_distance(struct DermisRunner runner,
                                    double *degrees,
                                    int32_t *bone);

#ifdef __cplusplus
}  // extern "C"
#endif /* __cplusplus */

#endif  /* DERMIS_H */
