/*
 * What does the C library do with bad input? Every call below must be refused with the code that stands beside it, and must leave
 * the memory around its buffers alone: buffers are exactly as long as they are said to be, so that a sanitizer sees a step beyond.
 *
 *   bad_inputs MODEL
 */
#include "dermis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed = 0, calls = 0;

static void expect(int line, DermisStatus expected, DermisStatus found)
{
    calls++;
    if (found != expected || (found != DERMIS_OK && dermis_last_error()[0] == 0)) {
        printf("line %d: status %d, expected %d: %s\n", line, (int)found, (int)expected, dermis_last_error());
        failed++;
    }
}

#define EXPECT(status, call) expect(__LINE__, status, call)

static void *memory(size_t size)
{
    void *made = malloc(size ? size : 1);
    if (!made) {
        exit(2);
    }
    return made;
}

/* The identity for every bone, in memory that ends where the last matrix does. */
static double *identities(uint32_t bones)
{
    double *made = memory(bones * 16 * sizeof(double));
    uint32_t bone, at;
    for (bone = 0; bone < bones; bone++) {
        for (at = 0; at < 16; at++) {
            made[16 * bone + at] = at % 5 == 0;
        }
    }
    return made;
}

static void bad_files(unsigned char *bytes, size_t length, const char *path)
{
    DermisModel model;
    size_t cut, flipped;
    EXPECT(DERMIS_ERROR_ABI, dermis_model_read(DERMIS_ABI_VERSION + 1, bytes, length, &model));
    EXPECT(DERMIS_ERROR_ABI, dermis_model_open(0, path, &model));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_read(DERMIS_ABI_VERSION, NULL, length, &model));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_read(DERMIS_ABI_VERSION, bytes, length, NULL));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_open(DERMIS_ABI_VERSION, NULL, &model));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_open(DERMIS_ABI_VERSION, path, NULL));
    EXPECT(DERMIS_ERROR_FILE, dermis_model_open(DERMIS_ABI_VERSION, "/no such file.dermis", &model));
    EXPECT(DERMIS_ERROR_VALUE, dermis_model_open(DERMIS_ABI_VERSION, "\xff\xfe", &model));
    /* Truncated after every few bytes, in memory that ends there. */
    for (cut = 0; cut < length; cut += 1 + length / 97) {
        unsigned char *part = memory(cut);
        memcpy(part, bytes, cut);
        EXPECT(DERMIS_ERROR_MODEL, dermis_model_read(DERMIS_ABI_VERSION, part, cut, &model));
        if (model.id != 0) {
            printf("a refused model has a handle\n");
            failed++;
        }
        free(part);
    }
    /* Damaged: either refused, or a model like any other. */
    for (flipped = 0; flipped < length; flipped += 1 + length / 211) {
        DermisStatus status;
        bytes[flipped] ^= 0x41;
        status = dermis_model_read(DERMIS_ABI_VERSION, bytes, length, &model);
        if (status == DERMIS_OK) {
            EXPECT(DERMIS_OK, dermis_model_free(model));
        } else {
            EXPECT(DERMIS_ERROR_MODEL, status);
        }
        bytes[flipped] ^= 0x41;
    }
}

static void bad_questions(DermisModel model, DermisModel none, DermisModelInfo info)
{
    const char *name;
    int32_t parent;
    uint32_t bone, *numbers = memory(info.triangles * 3 * sizeof(uint32_t));
    double axes[9], *matrices = memory(info.bones * 12 * sizeof(double));
    float *rest = memory(info.vertices * 3 * sizeof(float));
    DermisFloats out;
    out.first = rest;
    out.floats = info.vertices * 3;
    out.stride = 0;
    EXPECT(DERMIS_ERROR_HANDLE, dermis_model_info(none, &info));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_info(model, NULL));
    EXPECT(DERMIS_ERROR_HANDLE, dermis_model_bone_name(none, 0, &name));
    EXPECT(DERMIS_ERROR_NOT_FOUND, dermis_model_bone_name(model, info.bones, &name));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_bone_name(model, 0, NULL));
    EXPECT(DERMIS_ERROR_NOT_FOUND, dermis_model_bone_parent(model, UINT32_MAX, &parent));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_bone_parent(model, 0, NULL));
    EXPECT(DERMIS_ERROR_NOT_FOUND, dermis_model_find_bone(model, "no such bone", &bone));
    EXPECT(DERMIS_ERROR_VALUE, dermis_model_find_bone(model, "\xc0", &bone));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_find_bone(model, NULL, &bone));
    EXPECT(DERMIS_ERROR_NOT_FOUND, dermis_model_channel_name(model, info.channels, &name));
    EXPECT(DERMIS_OK, dermis_model_triangles(model, numbers, info.triangles * 3));
    EXPECT(DERMIS_ERROR_BUFFER, dermis_model_triangles(model, numbers, info.triangles * 3 - 1));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_triangles(model, NULL, info.triangles * 3));
    EXPECT(DERMIS_ERROR_ALIGNMENT, dermis_model_triangles(model, (uint32_t *)((char *)numbers + 1), 3));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_drawn_vertices(model, NULL, 0));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_drawn_triangles(model, NULL, 0));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_file_axes(model, NULL));
    EXPECT(DERMIS_OK, dermis_model_file_axes(model, axes));
    EXPECT(DERMIS_OK, dermis_model_rest_positions(model, &out));
    out.floats--;
    EXPECT(DERMIS_ERROR_BUFFER, dermis_model_rest_positions(model, &out));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_rest_positions(model, NULL));
    out.first = NULL;
    EXPECT(DERMIS_ERROR_NULL, dermis_model_rest_positions(model, &out));
    EXPECT(DERMIS_OK, dermis_model_bind_matrices(model, DERMIS_ROWS_3X4, DERMIS_DOUBLE, 0, matrices, info.bones * 96));
    EXPECT(DERMIS_ERROR_BUFFER,
        dermis_model_bind_matrices(model, DERMIS_ROWS_4X4, DERMIS_DOUBLE, 0, matrices, info.bones * 96));
    EXPECT(DERMIS_ERROR_STRIDE,
        dermis_model_bind_matrices(model, DERMIS_ROWS_3X4, DERMIS_DOUBLE, 92, matrices, info.bones * 96));
    EXPECT(DERMIS_ERROR_VALUE, dermis_model_bind_matrices(model, 0, DERMIS_DOUBLE, 0, matrices, info.bones * 96));
    EXPECT(DERMIS_ERROR_VALUE, dermis_model_bind_matrices(model, DERMIS_ROWS_3X4, 9, 0, matrices, info.bones * 96));
    EXPECT(DERMIS_ERROR_NULL, dermis_model_bind_matrices(model, DERMIS_ROWS_3X4, DERMIS_DOUBLE, 0, NULL, 0));
    free(numbers);
    free(matrices);
    free(rest);
}

static void bad_poses(DermisRunner runner, DermisRunner none, DermisModelInfo info)
{
    double *matrices = identities(info.bones), before;
    size_t floats = info.vertices * 6;
    float *both = memory(floats * sizeof(float));
    DermisPose good, pose;
    DermisFloats positions, normals, out;
    memset(&good, 0, sizeof good);
    good.matrices = matrices;
    good.matrices_bytes = info.bones * 16 * sizeof(double);
    good.bones = info.bones;
    good.layout = DERMIS_COLUMNS_4X4;
    good.numbers = DERMIS_DOUBLE;
    good.meaning = DERMIS_SKINNING;
    /* Interleaved, to the last float of the buffer. */
    positions.first = both;
    positions.floats = floats;
    positions.stride = 24;
    normals.first = both + 3;
    normals.floats = floats - 3;
    normals.stride = 24;
    EXPECT(DERMIS_OK, dermis_runner_evaluate(runner, &good, &positions, &normals));
    EXPECT(DERMIS_ERROR_HANDLE, dermis_runner_evaluate(none, &good, &positions, &normals));
    EXPECT(DERMIS_ERROR_NULL, dermis_runner_evaluate(runner, NULL, &positions, &normals));
    EXPECT(DERMIS_ERROR_NULL, dermis_runner_evaluate(runner, &good, NULL, &normals));
#define BAD_POSE(status, change) \
    pose = good; \
    change; \
    EXPECT(status, dermis_runner_evaluate(runner, &pose, &positions, NULL))
    BAD_POSE(DERMIS_ERROR_NULL, pose.matrices = NULL);
    BAD_POSE(DERMIS_ERROR_BUFFER, pose.matrices_bytes--);
    BAD_POSE(DERMIS_ERROR_BUFFER, pose.matrices_bytes = 0);
    BAD_POSE(DERMIS_ERROR_BUFFER, pose.matrices_stride = 136);
    BAD_POSE(DERMIS_ERROR_STRIDE, pose.matrices_stride = 8);
    BAD_POSE(DERMIS_ERROR_STRIDE, pose.matrices_stride = 129);
    BAD_POSE(DERMIS_ERROR_BUFFER, pose.matrices_stride = SIZE_MAX - 7);
    BAD_POSE(DERMIS_ERROR_COUNT, pose.bones = 0);
    BAD_POSE(DERMIS_ERROR_COUNT, pose.bones++);
    BAD_POSE(DERMIS_ERROR_COUNT, pose.bones = UINT32_MAX);
    BAD_POSE(DERMIS_ERROR_VALUE, pose.layout = 0);
    BAD_POSE(DERMIS_ERROR_VALUE, pose.layout = 5);
    BAD_POSE(DERMIS_ERROR_VALUE, pose.numbers = 0);
    BAD_POSE(DERMIS_ERROR_VALUE, pose.meaning = 3);
    BAD_POSE(DERMIS_ERROR_NULL, memset(&pose, 0, sizeof pose));
#define BAD_OUTPUT(status, change) \
    out = positions; \
    change; \
    EXPECT(status, dermis_runner_evaluate(runner, &good, &out, NULL)); \
    EXPECT(status, dermis_runner_evaluate(runner, &good, &positions, &out))
    BAD_OUTPUT(DERMIS_ERROR_NULL, out.first = NULL);
    BAD_OUTPUT(DERMIS_ERROR_BUFFER, out.floats = floats - 4);
    BAD_OUTPUT(DERMIS_ERROR_BUFFER, out.floats = 0);
    BAD_OUTPUT(DERMIS_ERROR_BUFFER, out.stride = 28);
    BAD_OUTPUT(DERMIS_ERROR_BUFFER, out.stride = SIZE_MAX - 3);
    BAD_OUTPUT(DERMIS_ERROR_STRIDE, out.stride = 8);
    BAD_OUTPUT(DERMIS_ERROR_STRIDE, out.stride = 25);
    BAD_OUTPUT(DERMIS_ERROR_ALIGNMENT, out.first = (float *)((char *)both + 2));
    /* Bad numbers, at every place of a matrix. */
#define BAD_NUMBER(at, value) \
    before = matrices[at]; \
    matrices[at] = value; \
    EXPECT(DERMIS_ERROR_VALUE, dermis_runner_evaluate(runner, &good, &positions, &normals)); \
    matrices[at] = before
    {
        size_t at;
        for (at = 0; at < 16; at++) {
            BAD_NUMBER(16 * (info.bones - 1) + at, NAN);
            BAD_NUMBER(at, INFINITY);
            BAD_NUMBER(at, -INFINITY);
        }
    }
    /* A translation in the last row: the matrix is of the other layout. */
    BAD_NUMBER(3, 0.25);
    BAD_NUMBER(15, 0.0);
    EXPECT(DERMIS_OK, dermis_runner_evaluate(runner, &good, &positions, &normals));
    free(matrices);
    free(both);
}

static void bad_settings(DermisModel model, DermisRunner runner)
{
    double axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    DermisRunner other;
    DermisModel swapped;
    EXPECT(DERMIS_ERROR_NULL, dermis_runner_new(model, 1, NULL));
    EXPECT(DERMIS_ERROR_VALUE, dermis_runner_new(model, UINT32_MAX, &other));
    swapped.id = runner.id;
    EXPECT(DERMIS_ERROR_HANDLE, dermis_runner_new(swapped, 1, &other));
    other.id = model.id;
    EXPECT(DERMIS_ERROR_HANDLE, dermis_runner_free(other));
    EXPECT(DERMIS_ERROR_NOT_FOUND, dermis_runner_set_channel(runner, 1000, 1.0));
    axes[0] = 2.0;
    EXPECT(DERMIS_ERROR_VALUE, dermis_runner_set_axes(runner, axes));
    axes[0] = NAN;
    EXPECT(DERMIS_ERROR_VALUE, dermis_runner_set_axes(runner, axes));
    EXPECT(DERMIS_OK, dermis_runner_set_axes(runner, NULL));
    EXPECT(DERMIS_OK, dermis_runner_distance(runner, NULL, NULL));
}

int main(int count, char **arguments)
{
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    unsigned char *bytes;
    long length;
    DermisModel model, none = {0};
    DermisRunner runner, no_runner = {0};
    DermisModelInfo info;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "usage: bad_inputs MODEL\n");
        return 2;
    }
    bytes = memory((size_t)length);
    if (fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        return 2;
    }
    fclose(file);
    bad_files(bytes, (size_t)length, arguments[1]);
    EXPECT(DERMIS_OK, dermis_model_read(DERMIS_ABI_VERSION, bytes, (size_t)length, &model));
    free(bytes);
    EXPECT(DERMIS_OK, dermis_model_info(model, &info));
    EXPECT(DERMIS_OK, dermis_runner_new(model, 1, &runner));
    bad_questions(model, none, info);
    bad_poses(runner, no_runner, info);
    bad_settings(model, runner);
    /* A runner outlives its model; a freed handle is refused, twice as well as once. */
    EXPECT(DERMIS_OK, dermis_model_free(model));
    EXPECT(DERMIS_ERROR_HANDLE, dermis_model_free(model));
    EXPECT(DERMIS_ERROR_HANDLE, dermis_model_info(model, &info));
    bad_poses(runner, no_runner, info);
    EXPECT(DERMIS_OK, dermis_runner_free(runner));
    EXPECT(DERMIS_ERROR_HANDLE, dermis_runner_free(runner));
    EXPECT(DERMIS_OK, dermis_model_free(none));
    EXPECT(DERMIS_OK, dermis_runner_free(no_runner));
    printf("%d calls, %d not as expected\n", calls, failed);
    return failed != 0;
}
