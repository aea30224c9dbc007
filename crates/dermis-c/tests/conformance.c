/*
 * Does the C library evaluate the models of a table as the table says?
 *
 *   conformance DIR
 *
 * DIR/table.txt has a line per model: name, model file, transforms, expected positions, tolerance in metres, with tabs between.
 * Transforms are an NPY file of (poses, bones, 4, 4), expected positions one of (poses, vertices, 3): little-endian doubles in
 * C order. A deviation is named by model, pose and vertex, and the program ends with 1. Ends with 2 if it cannot run.
 */
#include "dermis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of an NPY file. */
struct array {
    size_t shape[4];
    size_t dimensions;
    double *numbers;
};

static void stop(const char *what, const char *which)
{
    fprintf(stderr, "conformance: %s: %s\n", which, what);
    exit(2);
}

static void must(DermisStatus status, const char *which)
{
    if (status != DERMIS_OK) {
        stop(dermis_last_error(), which);
    }
}

static unsigned char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes;
    long size;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
        stop("it cannot be opened", path);
    }
    bytes = malloc((size_t)size + 1);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        stop("it cannot be read", path);
    }
    fclose(file);
    bytes[size] = 0;
    *length = (size_t)size;
    return bytes;
}

static struct array read_npy(const char *path, size_t dimensions)
{
    struct array array;
    size_t length, start, header, at, count = 1;
    unsigned char *bytes = read_file(path, &length);
    char *text;
    if (length < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        stop("it is no NPY file", path);
    }
    start = bytes[6] == 1 ? 10 : 12;
    header = bytes[8] + 256u * bytes[9];
    if (bytes[6] != 1) {
        header += 65536u * bytes[10] + 16777216u * bytes[11];
    }
    if (header > length - start) {
        stop("its header is longer than the file", path);
    }
    text = malloc(header + 1);
    if (!text) {
        stop("no memory", path);
    }
    memcpy(text, bytes + start, header);
    text[header] = 0;
    if (!strstr(text, "<f8") || strstr(text, "'fortran_order': True")) {
        stop("its numbers are not little-endian doubles in C order", path);
    }
    {
        char *place = strstr(text, "'shape': (");
        if (!place) {
            stop("it has no shape", path);
        }
        place += strlen("'shape': (");
        for (array.dimensions = 0; *place != ')' && array.dimensions < 4; array.dimensions++) {
            array.shape[array.dimensions] = strtoul(place, &place, 10);
            count *= array.shape[array.dimensions];
            while (*place == ',' || *place == ' ') {
                place++;
            }
        }
    }
    if (array.dimensions != dimensions || count != (length - start - header) / 8) {
        stop("it has another shape than its data", path);
    }
    array.numbers = malloc(count * sizeof(double) + 1);
    if (!array.numbers) {
        stop("no memory", path);
    }
    for (at = 0; at < count; at++) {
        memcpy(&array.numbers[at], bytes + start + header + 8 * at, 8);
    }
    free(text);
    free(bytes);
    return array;
}

/* What is told of all models. */
struct tally {
    size_t models, poses, failed;
    double largest;
};

static void check(const char *folder, char *line, struct tally *tally)
{
    char *field[5], path[4096];
    size_t at, pose, bones, vertices;
    double tolerance;
    struct array transforms, expected;
    unsigned char *bytes;
    size_t length;
    float *skin;
    DermisModel model;
    DermisRunner runner;
    DermisModelInfo info;
    for (at = 0; at < 5; at++) {
        field[at] = strtok(at == 0 ? line : NULL, "\t\r\n");
        if (!field[at]) {
            stop("a line of table.txt has less than five fields", folder);
        }
    }
    tolerance = strtod(field[4], NULL);
    snprintf(path, sizeof path, "%s/%s", folder, field[1]);
    bytes = read_file(path, &length);
    must(dermis_model_read(DERMIS_ABI_VERSION, bytes, length, &model), field[0]);
    free(bytes);
    must(dermis_model_info(model, &info), field[0]);
    must(dermis_runner_new(model, 1, &runner), field[0]);
    snprintf(path, sizeof path, "%s/%s", folder, field[2]);
    transforms = read_npy(path, 4);
    snprintf(path, sizeof path, "%s/%s", folder, field[3]);
    expected = read_npy(path, 3);
    bones = transforms.shape[1];
    vertices = info.vertices;
    if (transforms.shape[2] != 4 || transforms.shape[3] != 4 || expected.shape[0] != transforms.shape[0]
        || expected.shape[1] != vertices || expected.shape[2] != 3) {
        stop("transforms, expected positions and model are of different sizes", field[0]);
    }
    skin = malloc(vertices * 3 * sizeof(float) + 1);
    if (!skin) {
        stop("no memory", field[0]);
    }
    for (pose = 0; pose < transforms.shape[0]; pose++) {
        const double *wanted = expected.numbers + pose * vertices * 3;
        DermisPose given;
        DermisFloats out;
        memset(&given, 0, sizeof given);
        given.matrices = transforms.numbers + pose * bones * 16;
        given.matrices_bytes = bones * 16 * sizeof(double);
        given.bones = (uint32_t)bones;
        given.layout = DERMIS_ROWS_4X4;
        given.numbers = DERMIS_DOUBLE;
        given.meaning = DERMIS_SKINNING;
        out.first = skin;
        out.floats = vertices * 3;
        out.stride = 0;
        must(dermis_runner_evaluate(runner, &given, &out, NULL), field[0]);
        for (at = 0; at < vertices; at++) {
            double x = skin[3 * at] - wanted[3 * at];
            double y = skin[3 * at + 1] - wanted[3 * at + 1];
            double z = skin[3 * at + 2] - wanted[3 * at + 2];
            double off = sqrt(x * x + y * y + z * z);
            /* Written so that NaN deviates. */
            if (!(off <= tolerance)) {
                printf("%s, pose %lu, vertex %lu: %g m from what is expected; %g is allowed\n", field[0],
                    (unsigned long)pose, (unsigned long)at, off, tolerance);
                tally->failed++;
            }
            if (tolerance > 0.0 && !(off / tolerance <= tally->largest)) {
                tally->largest = off / tolerance;
            } else if (tolerance == 0.0 && off != 0.0) {
                tally->largest = HUGE_VAL;
            }
        }
        tally->poses++;
    }
    tally->models++;
    must(dermis_runner_free(runner), field[0]);
    must(dermis_model_free(model), field[0]);
    free(transforms.numbers);
    free(expected.numbers);
    free(skin);
}

int main(int count, char **arguments)
{
    struct tally tally = {0, 0, 0, 0.0};
    char path[4096], *text, *line, *next;
    size_t length;
    if (count != 2) {
        fprintf(stderr, "usage: conformance DIR\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/table.txt", arguments[1]);
    text = (char *)read_file(path, &length);
    for (line = text; *line; line = next) {
        next = strchr(line, '\n');
        if (next) {
            *next++ = 0;
        } else {
            next = line + strlen(line);
        }
        if (*line) {
            check(arguments[1], line, &tally);
        }
    }
    free(text);
    printf("%lu models, %lu poses: largest deviation %g of its tolerance\n", (unsigned long)tally.models,
        (unsigned long)tally.poses, tally.largest);
    return tally.failed > 0 || tally.models == 0;
}
