/*
 * What works in a process that was forked from one that has evaluated models?
 *
 *   forked MODEL...
 *
 * For every model file: the parent evaluates the rest pose with shared threads and with threads of a runner. A child is forked. There,
 * both runners say DERMIS_ERROR_THREADS at once; the model that was open, and the file opened again, give the parent's bits through
 * new runners with a thread of their own. Ends with 0 if all is so; a child that waits is ended after half a minute.
 */
#define _POSIX_C_SOURCE 200809L
#include "dermis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct skin {
    float *positions;
    size_t floats;
};

static void expect(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "forked: %s; the library said: %s\n", what, dermis_last_error());
        _exit(1);
    }
}

/* Evaluates the rest pose. */
static DermisStatus evaluate(DermisModelInfo info, DermisRunner runner, struct skin *skin)
{
    DermisPose pose;
    DermisFloats out;
    DermisStatus status;
    float *matrices = calloc(16 * (size_t)info.bones, sizeof *matrices);
    size_t bone, at;
    memset(&pose, 0, sizeof pose);
    for (bone = 0; bone < info.bones; bone++) {
        for (at = 0; at < 4; at++) {
            matrices[16 * bone + 5 * at] = 1.0f;
        }
    }
    skin->floats = 3 * (size_t)info.vertices;
    skin->positions = calloc(skin->floats, sizeof *skin->positions);
    pose.matrices = matrices;
    pose.matrices_bytes = 16 * (size_t)info.bones * sizeof *matrices;
    pose.bones = info.bones;
    pose.layout = DERMIS_ROWS_4X4;
    pose.numbers = DERMIS_FLOAT;
    pose.meaning = DERMIS_SKINNING;
    out.first = skin->positions;
    out.floats = skin->floats;
    out.stride = 0;
    status = dermis_runner_evaluate(runner, &pose, &out, NULL);
    free(matrices);
    return status;
}

static void same(struct skin a, struct skin b)
{
    expect(a.floats == b.floats && memcmp(a.positions, b.positions, a.floats * sizeof *a.positions) == 0, "other bits");
}

int main(int count, char **paths)
{
    int at;
    for (at = 1; at < count; at++) {
        DermisModel model, again;
        DermisModelInfo info;
        DermisRunner shared, own, fresh;
        struct skin skin, found;
        int ended;
        pid_t child;
        expect(dermis_model_open(DERMIS_ABI_VERSION, paths[at], &model) == DERMIS_OK, paths[at]);
        expect(dermis_model_info(model, &info) == DERMIS_OK, "no information");
        expect(dermis_runner_new(model, 0, &shared) == DERMIS_OK, "no runner with shared threads");
        expect(dermis_runner_new(model, 2, &own) == DERMIS_OK, "no runner with two threads");
        expect(evaluate(info, shared, &skin) == DERMIS_OK, "not evaluated");
        expect(evaluate(info, own, &found) == DERMIS_OK, "not evaluated");
        same(skin, found);
        child = fork();
        expect(child >= 0, "no fork");
        if (child == 0) {
            alarm(30);
            expect(evaluate(info, shared, &found) == DERMIS_ERROR_THREADS, "shared threads in a child");
            expect(strstr(dermis_last_error(), "forked") != NULL, "no word of the fork");
            expect(evaluate(info, own, &found) == DERMIS_ERROR_THREADS, "threads of a parent's runner in a child");
            expect(dermis_runner_new(model, 1, &fresh) == DERMIS_OK, "no runner in a child");
            expect(evaluate(info, fresh, &found) == DERMIS_OK, "not evaluated in a child");
            same(skin, found);
            expect(dermis_model_open(DERMIS_ABI_VERSION, paths[at], &again) == DERMIS_OK, "not opened in a child");
            expect(dermis_runner_new(again, 1, &fresh) == DERMIS_OK, "no runner of a model that a child opened");
            expect(evaluate(info, fresh, &found) == DERMIS_OK, "a model that a child opened is not evaluated");
            same(skin, found);
            expect(dermis_runner_free(own) == DERMIS_OK && dermis_model_free(model) == DERMIS_OK, "not freed in a child");
            _exit(0);
        }
        expect(waitpid(child, &ended, 0) == child && WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "the child failed");
        expect(evaluate(info, shared, &found) == DERMIS_OK, "the parent goes on");
        same(skin, found);
    }
    printf("%d models\n", count - 1);
    return 0;
}
