#!/usr/bin/env python3
"""Neural and linear corrections of linear blend skinning: what `cargo xtask bench neural` compares Dermis with.

    python3 tools/neural_rivals.py TRAIN[#SELECT] HELD_OUT[#SELECT] [--methods global,local,fdda,smpl,star]
                                   [--poses N,N,...] [--as-shipped] [--no-mirror] [--json]
    python3 tools/neural_rivals.py --check

TRAIN and HELD_OUT are .npz bundles of one character. SELECT keeps the poses whose label matches one of several patterns
(`#Walk*,Idle*`), or none of them (`#!Walk*`); `*` stands for any text. Every method learns what linear blend skinning
(LBS) leaves, seen from rest, out of the rotations of the joints relative to their parents. It is scored on posed skin.

global  One network reads all joints (6 numbers per rotation; 2 x 128 ELU) and weighs shapes of the whole skin, the
        principal components of the training residuals, 128 at most. This is Unreal's Neural Morph Model in its global
        mode and the PCA mode of Maya's ML Deformer (Principal Shapes).
local   Unreal's Neural Morph Model in its local mode: a network per joint reads the joint (1 x 6 ELU) and weighs 6
        learnt shapes. A mask confines them to the joint's region: segments skinned to it, its parent or its children.
fdda    Fast and Deep Deformation Approximations: per segment (the vertices of one dominant bone) a network (2 x 128
        tanh) reads the joints of the region and weighs principal components of the segment's residuals.
smpl    Pose blend shapes as in SMPL: linear in R - I of all joints, with a ridge.
star    The same, but each segment reads only the joints of its region; STAR is sparse like this.

Sources: NeuralMorphModel.h of Unreal 5.4 (sizes; 5000 iterations, batches of 128, learning rate 1e-3), Autodesk's
help on the training of Maya's ML Deformer, Bailey et al. 2018 (FDDA), Loper et al. 2015 (SMPL), Osman et al. 2020
(STAR).
Reproduced: inputs, kinds and sizes of networks and shapes, Adam. Every step sees all poses.
Differs: the loss is the squared error; Unreal's smooth L1 is that only below 1 cm. The loss is computed on principal
components, which leave out at most 1e-6 of the energy; by segment 3e-4, or what 40 components leave out (the JSON has
the share). Cross-validation inside the training poses chooses sizes, masks, weight decay, noise on the inputs, learning
rate and number of iterations; the answer is the mean of three networks; mirror images of the examples are examples, as
for Dermis. No vendor does this. `--as-shipped` takes the vendor's or the publication's settings without choosing (the
ridge is still chosen), and `--no-mirror` takes the examples alone.
Not reproduced: Unreal's L1 penalty and compression of shapes, bone groups, curves and Nearest Neighbor Model; Maya's
own network; FDDA's translations as inputs and its network for the rigid part; STAR's quaternions, learnt masks and body
shape; SMPL's learnt weights and joints. The rig stays as it is.
"""
import argparse
import json
import os
import re
import sys
import time
import zipfile
import zlib

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is loaded
import numpy as np

DAMPING = 1e-3     # added to AᵀA where a blended matrix A is undone: skinning can collapse
FOLDS = 5          # random parts of the training poses ...
TRIED = 3          # ... of which so many are left out in turn when settings of networks are compared
CHECK = 25         # iterations between looks at the left-out error
PATIENCE = 5       # looks without a better one, then a network stops
EQUAL = 1.02       # settings whose left-out errors differ by less are equally good; the last one is taken
ITERATIONS = 5000  # at most
NETWORKS = 3       # whose mean is the answer
BLOCK = 1 << 14    # parameters of a step of Adam that are worked on together
SKINNED = 0.01     # weight from which a vertex counts as skinned to a bone when regions are made
NEAR = 1e-3        # mean distance of mirror partners, in rest diagonals, up to which a shape is symmetric
STRESS_POSES, STRESS_DEGREES = 200, 120
LIVE = 0.02        # stress leaves out vertices that training corrects by less than this share of its largest correction
METHODS = ("global", "local", "fdda", "smpl", "star")
ARRAYS = ("rest_vertices", "bone_parents", "bind_matrices", "pose_matrices", "vertices", "lbs_weights", "pose_labels")
COUNTED = "float32 numbers of one network and its shapes; the mean of three stores three networks"


class BadInput(Exception):
    """A file or an option that cannot be used."""


# ---- Examples

def read_bundle(source):
    """The arrays of `PATH[#SELECT]`, checked, with the selected poses only."""
    path, _, select = source.partition("#")
    try:
        if os.path.isfile(path) and not zipfile.is_zipfile(path):
            raise BadInput(f"{path}: not a .npz bundle")
        with np.load(path) as file:
            missing = [name for name in ARRAYS if name not in file.files]
            if missing:
                raise BadInput(f"{path}: the array {missing[0]} is missing")
            data = {name: file[name] for name in ARRAYS}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput(f"{path}: not readable: {error}") from None
    check_arrays(path, data)
    kept = [i for i, label in enumerate(data["pose_labels"]) if selected(select, str(label))]
    if not kept:
        raise BadInput(f'{path}: none of the {len(data["pose_labels"])} labels is selected by "{select}"')
    return data | {name: data[name][kept] for name in ("pose_matrices", "vertices")}


def check_arrays(path, data):
    """Raises BadInput unless the arrays fit each other, are finite and make a rig."""
    v, b, p = (data[name].shape[:1] for name in ("rest_vertices", "bone_parents", "pose_labels"))
    expected = {"rest_vertices": (*v, 3), "bone_parents": b, "bind_matrices": (*b, 4, 4), "pose_labels": p,
                "pose_matrices": (*p, *b, 4, 4), "vertices": (*p, *v, 3), "lbs_weights": (*v, *b)}
    for name, shape in expected.items():
        if data[name].shape != shape:
            raise BadInput(f"{path}: {name} has shape {data[name].shape}, expected {shape}")
        if name != "pose_labels" and not (data[name].dtype.kind in "fiu" and np.isfinite(data[name]).all()):
            raise BadInput(f"{path}: {name} holds something that is not a finite number")
    if not ((data["bone_parents"] >= -1) & (data["bone_parents"] < np.arange(*b))).all():
        raise BadInput(f"{path}: bone_parents: a parent must come before its children")
    if not np.allclose(data["lbs_weights"].sum(1), 1, atol=1e-3):
        raise BadInput(f"{path}: lbs_weights: the weights of a vertex must sum to 1")
    if not (np.abs(np.linalg.det(data["bind_matrices"].astype(float))) > 0).all():
        raise BadInput(f"{path}: bind_matrices: a matrix has no inverse")


def selected(select, label):
    """Whether a label is meant by a selection such as `Walk*,Idle*` or `!Walk*`."""
    patterns = (".*".join(map(re.escape, p.split("*"))) for p in select.removeprefix("!").split(","))
    return not select or any(re.fullmatch(p, label, re.S) for p in patterns) != select.startswith("!")


class Poses:
    """Residuals of linear blend skinning, posed as they are seen and at rest as they are learnt: [pose, vertex, 3]."""

    def __init__(self, data, keep=slice(None)):
        transforms = data["pose_matrices"][keep].astype(float) @ np.linalg.inv(data["bind_matrices"].astype(float))
        skin, weights = data["vertices"][keep], data["lbs_weights"].astype(float)
        homogeneous = np.pad(data["rest_vertices"].astype(float), ((0, 0), (0, 1)), constant_values=1)
        self.rotations = nearest_rotations(transforms[:, :, :3, :3])
        self.matrices = np.empty((*skin.shape, 3), np.float32)  # the blended matrices
        self.posed, self.at_rest = np.empty((2, *skin.shape), np.float32)
        for p, bones in enumerate(transforms):
            blend = (weights @ bones[:, :3].reshape(len(bones), 12)).reshape(-1, 3, 4)
            a, residual = blend[:, :, :3], skin[p] - np.einsum("vij,vj->vi", blend, homogeneous)
            normal = np.swapaxes(a, 1, 2) @ a + DAMPING * np.eye(3)
            right = np.einsum("vki,vk->vi", a, residual)
            self.at_rest[p] = np.linalg.solve(normal, right[..., None])[..., 0]
            self.matrices[p], self.posed[p] = a, residual

    def score(self, predicted):
        """(root mean square, largest) error of predicted residuals at rest, in units, on posed skin."""
        return rms_and_largest(self.posed - np.einsum("pvij,pvj->pvi", self.matrices, predicted))


def rms_and_largest(error):
    squares = (error.astype(float) ** 2).sum(-1)
    return float(np.sqrt(squares.mean())), float(np.sqrt(squares.max()))


def nearest_rotations(a):
    u, _, vt = np.linalg.svd(a)
    u[..., 2] *= np.sign(np.linalg.det(u @ vt))[..., None]
    return u @ vt


# ---- Rig and mirror

class Rig:
    """Joints that drive the skin, segments of the skin, and whose region holds which segment: [joint, segment]."""

    def __init__(self, weights, parents):
        carries = weights.sum(0) > 1e-6
        self.parents, root = driving_parents(weights, parents, carries)
        self.joints = np.array([b for b in np.flatnonzero(carries) if b != root], int)
        if not len(self.joints):
            raise BadInput("the rig has one skinned bone: there is no joint to learn from")
        dominant = weights.argmax(1)
        self.segments = [np.flatnonzero(dominant == b) for b in np.unique(dominant)]
        touched = np.array([(weights[s] > SKINNED).any(0) for s in self.segments]).T  # [bone, segment]
        self.region = touched[self.joints] | touched[self.parents[self.joints]]
        for joint in self.joints:
            self.region[self.joints == self.parents[joint]] |= touched[joint]

    def local(self, rotations):
        """Rotations of the joints relative to their parents: [pose, joint, 3, 3], the identity at rest."""
        return np.swapaxes(rotations[:, self.parents[self.joints]], -1, -2) @ rotations[:, self.joints]

    def parts(self, whole):
        """Sets of vertices, and the joints that each reads: the whole skin and all joints, or segments and regions."""
        if whole:
            return [np.sort(np.concatenate(self.segments))], [np.arange(len(self.joints))]
        return self.segments, [np.flatnonzero(joints) for joints in self.region.T]


def driving_parents(weights, parents, carries):
    """For each bone its nearest skinned ancestor, and the bone that is the root of most of the skin.

    Another skinned root (the foot of an IK rig) gets the bone outside its tree with which it shares most weight.
    """
    up = np.full(len(parents), -1)
    for bone in np.flatnonzero(carries):
        up[bone] = parents[bone]
        while up[bone] >= 0 and not carries[up[bone]]:
            up[bone] = parents[up[bone]]
    root_of = np.arange(len(parents))
    while (up[root_of] >= 0).any():
        root_of = np.where(up[root_of] >= 0, up[root_of], root_of)
    main = np.bincount(root_of, weights.sum(0), len(parents)).argmax()
    shared = weights.T @ weights
    for root in np.flatnonzero(carries & (up < 0)):
        if root != main:
            others = np.where(root_of == root, 0, shared[root])
            up[root] = others.argmax() if others.max() > 0 else main
    return up, main


class Mirror:
    """The reflection of a character onto itself: vertices pair by place at rest, bones by bind place and weights."""

    def __init__(self, normal, vertices, joints, distance):
        self.reflection = np.eye(3) - 2 * np.outer(normal, normal)
        self.normal, self.vertices, self.joints, self.distance = normal, vertices, joints, distance

    def residuals(self, d):
        return (d[:, self.vertices] @ self.reflection).astype(d.dtype)

    def rotations(self, q):
        return self.reflection @ q[:, self.joints] @ self.reflection


def find_mirror(rest, weights, binds, rig):
    """The mirror of a character, or None where shape or rig has none. Coordinate and principal planes are tried."""
    middle, diagonal = rest.mean(0), np.linalg.norm(np.ptp(rest, axis=0))
    image = lambda points, n: points - 2 * np.outer((points - middle) @ n, n)
    planes = np.concatenate([np.eye(3), np.linalg.eigh(np.cov(rest.T))[1].T])
    probes = rest[:: -(-len(rest) // 200)]
    normal = planes[np.argmin([nearest(image(probes, n), rest)[1].mean() for n in planes])]
    to, apart = nearest(image(rest, normal), rest)
    offset = image(binds[:, :3, 3], normal)[:, None] - binds[:, :3, 3]
    unit = weights / np.maximum(np.linalg.norm(weights, axis=0), 1e-12)
    unlike = np.linalg.norm(offset, axis=-1) / diagonal + 1 - unit[to].T @ unit
    partner = unlike[np.ix_(rig.joints, rig.joints)].argmin(1)
    bone = np.arange(len(binds))
    bone[rig.joints] = rig.joints[partner]
    fits = (bone[bone] == np.arange(len(bone))).all() and (rig.parents[bone] == bone[rig.parents])[rig.joints].all()
    return Mirror(normal, to, partner, apart.mean() / diagonal) if fits and apart.mean() <= NEAR * diagonal else None


def nearest(points, among):
    """For each point the index of the nearest of others, and how far it is."""
    index, squares = np.empty(len(points), int), (among ** 2).sum(1)
    for start in range(0, len(points), 1024):
        part = slice(start, start + 1024)
        index[part] = (squares - 2 * points[part] @ among.T).argmin(1)
    return index, np.linalg.norm(points - among[index], axis=1)


class Examples:
    """Residuals at rest d, relative rotations q and folds; mirror images come last, in the fold of their originals."""

    def __init__(self, d, q, mirror):
        fold = np.random.default_rng(1).permutation(len(d)) % FOLDS
        if mirror:
            d, q = np.concatenate([d, mirror.residuals(d)]), np.concatenate([q, mirror.rotations(q)])
        self.d, self.q, self.fold = d, q, np.resize(fold, len(d))


class Shapes:
    """Principal components of residuals, one orthonormal basis per set of vertices that residuals move.

    `reads` are the joints of each set, `bases` are [rank, 3 vertices], `coefficients` [rank, pose].
    """

    def __init__(self, d, sets, reads, tolerance, most=None):
        self.sets, self.reads, self.bases, self.coefficients, self.vertices = [], [], [], [], d.shape[1]
        allowed = tolerance * float((d.astype(float) ** 2).sum()) / self.vertices  # energy left out per vertex
        for s, joints in zip(sets, reads):
            x = d[:, s].reshape(len(d), -1).astype(float)
            energies, u = np.linalg.eigh(x @ x.T)
            rank = min(int((np.cumsum(energies.clip(0)) > allowed * len(s)).sum()), most or len(d))
            if rank:
                u, sizes = u[:, ::-1][:, :rank], np.sqrt(energies[::-1][:rank])
                self.sets.append(s)
                self.reads.append(joints)
                self.bases.append(((u / sizes).T @ x).astype(d.dtype))
                self.coefficients.append((u * sizes).T)

    def expand(self, coefficients):
        """Residuals [pose, vertex, 3] of coefficients [rank, pose] per set."""
        d = np.zeros((coefficients[0].shape[-1], self.vertices, 3), self.bases[0].dtype)
        for s, basis, c in zip(self.sets, self.bases, coefficients):
            d[:, s] = (c.T.astype(d.dtype) @ basis).reshape(len(d), -1, 3)
        return d

    def energy(self):
        """Of each pose."""
        return sum((c ** 2).sum(0) for c in self.coefficients)


# ---- Networks

class Network:
    """Perceptrons from rotations [copy, joint, 6, pose] to coefficients [copy, rank, pose] of each set.

    The perceptron of a set reads the units of its joints: rotations, or if there are `morphs` what a perceptron per
    joint makes of its rotation. Inputs share one scale, as in Unreal; a coefficient has its own mean and spread.
    Parameters are an array [copy, number]; copies share nothing.
    """

    def __init__(self, shapes, q, setting, dtype=np.float32):
        self.activation, self.morphs = setting["activation"], setting.get("morphs")
        self.reads, self.dtype = shapes.reads, dtype
        hidden, x = [setting["hidden"]] * setting["layers"], six(q)
        between, units = ([], self.morphs) if self.morphs else (hidden, 6)
        self.plan = [((q.shape[1],), [6, *hidden, self.morphs] if self.morphs else [])]  # groups, widths of layers
        self.plan += [((), [len(r) * units, *between, len(c)]) for r, c in zip(shapes.reads, shapes.coefficients)]
        sizes = [(n, int(np.prod(group)) * m * (n + 1)) for group, w in self.plan for n, m in zip(w, w[1:])]
        self.bounds = np.concatenate([np.full(size, 1 / np.sqrt(max(n, 1))) for n, size in sizes])
        self.mean, self.scale = x.mean(-1, keepdims=True), float(x.std(-1).mean()) + 1e-5
        self.middles = [c.mean(1, keepdims=True).astype(dtype) for c in shapes.coefficients]
        spreads = [c.std(1, keepdims=True) for c in shapes.coefficients]
        self.spreads = [(s + 1e-3 * max(t.max() for t in spreads)).astype(dtype) for s in spreads]
        self.targets = [(c - m).astype(dtype) for c, m in zip(shapes.coefficients, self.middles)]

    def start(self, seeds):
        """PyTorch's default: uniform within 1/√inputs."""
        drawn = [np.random.default_rng(seed).uniform(-1, 1, len(self.bounds)) for seed in seeds]
        return (self.bounds * drawn).astype(self.dtype)

    def views(self, flat):
        """Per perceptron its layers: weights [copy, (joint,) out, in] and biases [copy, (joint,) out, 1]."""
        perceptrons, at = [], 0
        for group, widths in self.plan:
            perceptrons.append([])
            for n, m in zip(widths, widths[1:]):
                layer = []
                for k in (n, 1):
                    size = int(np.prod(group)) * m * k
                    layer.append(flat[:, at : at + size].reshape(len(flat), *group, m, k))
                    at += size
                perceptrons[-1].append(layer)
        return perceptrons

    def inputs(self, q):
        return ((six(q) - self.mean) / self.scale).astype(self.dtype)[None]

    def coefficients(self, flat, q):
        """Per set [copy, rank, pose]."""
        outputs = self.forward(self.views(flat), self.inputs(q))[0]
        return [y * s + m for y, s, m in zip(outputs, self.spreads, self.middles)]

    def forward(self, perceptrons, x):
        """The outputs of the sets, and what `gradient` needs."""
        units, of_joints = self.ahead(perceptrons[0], x)
        outputs, kept = [], [of_joints]
        for reads, layers in zip(self.reads, perceptrons[1:]):
            y, inside = self.ahead(layers, units[:, reads].reshape(len(units), -1, units.shape[-1]))
            outputs.append(y)
            kept.append(inside)
        return outputs, kept

    def ahead(self, layers, x):
        """The output of a perceptron, and the input and the activation's slope of every layer."""
        kept = []
        for depth, (w, b) in enumerate(layers):
            y, slope = w @ x + b, None
            if depth + 1 < len(layers):
                y, slope = bend(y, self.activation)
            kept.append((x, slope))
            x = y
        return x, kept

    def gradient(self, flat, x, weights):
        """The squared error, weighted by copy and pose [copy, 1, pose], and its gradient by back-propagation."""
        perceptrons, found = self.views(flat), np.empty_like(flat)
        outputs, kept = self.forward(perceptrons, x)
        gradients, loss = self.views(found), 0.0
        units = np.zeros((len(flat), len(x[0]), self.morphs, x.shape[-1]), self.dtype) if self.morphs else None
        for k, (y, spread, target) in enumerate(zip(outputs, self.spreads, self.targets)):
            error = y * spread - target
            loss += float((error ** 2 * weights).sum())
            g = behind(perceptrons[k + 1], gradients[k + 1], kept[k + 1], error * weights * (2 * spread), self.morphs)
            if self.morphs:
                units[:, self.reads[k]] += g.reshape(len(g), -1, *units.shape[2:])
        behind(perceptrons[0], gradients[0], kept[0], units, False)
        return loss, found


def bend(z, activation):
    """An activation and its slope."""
    if activation == "tanh":
        y = np.tanh(z)
        return y, 1 - y * y
    slope = np.exp(np.minimum(z, 0))  # ELU
    return np.maximum(z, 0) + (slope - 1), slope


def behind(layers, gradients, kept, g, further):
    """Writes the gradients of a perceptron's layers, from that of its output; if `further`, returns its input's."""
    for depth in reversed(range(len(layers))):
        x, slope = kept[depth]
        g = g if slope is None else g * slope
        np.matmul(g, np.swapaxes(x, -1, -2), out=gradients[depth][0])
        np.sum(g, axis=-1, keepdims=True, out=gradients[depth][1])
        if depth or further:
            g = np.swapaxes(layers[depth][0], -1, -2) @ g
    return g


def six(q):
    """Two columns of each rotation: [joint, 6, pose]."""
    return np.concatenate([q[..., 0], q[..., 1]], -1).transpose(1, 2, 0)


def train(network, q, energy, rows, seeds, setting, iterations, watch):
    """AdamW on several copies, copy k on the poses `rows[k]`: the parameters, and if watched the left-out energies."""
    x, flat, rng, curve = network.inputs(q), network.start(seeds), np.random.default_rng(7), []
    weights = (rows / rows.sum(1, keepdims=True) / energy.mean()).astype(np.float32)[:, None]
    moments = np.zeros((2, *flat.shape), np.float32)
    for i in range(1, iterations + 1):
        noisy = x
        if setting["noise"]:
            noise = rng.standard_normal((len(seeds), *x.shape[1:]), dtype=np.float32)
            noisy = x + np.float32(setting["noise"]) * noise
        _, gradient = network.gradient(flat, noisy, weights)
        adam(flat, gradient, *moments, i, setting["rate"], setting["decay"])
        if watch and i % CHECK == 0:
            errors = zip(network.forward(network.views(flat), x)[0], network.spreads, network.targets)
            curve.append(sum(float(((y * s - t) ** 2).sum(1)[~rows].sum()) for y, s, t in errors))
            if len(curve) - 1 - int(np.argmin(curve)) >= PATIENCE:
                break
    return flat, curve


def adam(parameters, gradient, mean, square, i, rate, decay):
    """One step of AdamW in place, in blocks that stay in the cache; the gradient is used up."""
    correction = np.sqrt(1 - 0.999 ** i)
    step = rate * correction / (1 - 0.9 ** i)
    arrays = [a.reshape(-1) for a in (parameters, gradient, mean, square)]
    for start in range(0, parameters.size, BLOCK):
        p, g, m, v = (a[start : start + BLOCK] for a in arrays)
        m *= 0.9
        m += 0.1 * g
        np.square(g, out=g)
        g *= 0.001
        v *= 0.999
        v += g
        np.sqrt(v, out=g)
        g += 1e-8 * correction
        np.divide(m, g, out=g)
        g *= step
        p *= 1 - rate * decay
        p -= g


# ---- Methods

def setting(hidden, layers, activation, decay=0.0, noise=0.0, rate=1e-3, **more):
    return dict(hidden=hidden, layers=layers, activation=activation, decay=decay, noise=noise, rate=rate, **more)


SHIPPED = {
    "global": setting(128, 2, "elu"),
    "local": setting(6, 1, "elu", morphs=6, mask=False),
    "fdda": setting(128, 2, "tanh"),
}
SETTINGS = {  # decay: of weights, per unit of learning rate; noise: on inputs, in their spread, which smooths most
    "global": [SHIPPED["global"], setting(128, 2, "elu", 0, 0.3), setting(128, 2, "elu", 0.3, 0.6)],
    "local": [SHIPPED["local"], setting(6, 1, "elu", 0.3, 0.3, 4e-3, morphs=6, mask=True),
              setting(12, 2, "elu", 0.3, 0.3, 2e-3, morphs=12, mask=True)],
    "fdda": [setting(64, 2, "tanh", 0.3, 0.2, 3e-3), setting(64, 2, "tanh", 0.3, 0.5, 3e-3)],
}


def components(kind, setting, examples, rig):
    """The shapes of global and fdda; for local, the components that its loss is computed on."""
    if kind == "fdda" or setting.get("mask"):
        return Shapes(examples.d, *rig.parts(False), 3e-4, 40)
    return Shapes(examples.d, *rig.parts(True), 1e-6, 128 if kind == "global" else None)


def fit_network(kind, examples, rig, as_shipped):
    """A method with networks: a function from rotations to residuals [pose, vertex, 3], and facts about the fit."""
    started = time.process_time()
    chosen, iterations, error, tried = SHIPPED[kind], ITERATIONS, None, []
    if not as_shipped:
        tried = [validate(kind, candidate, examples, rig) for candidate in SETTINGS[kind]]
        least = min(t[0] for t in tried)
        error, iterations, chosen = [t for t in tried if t[0] <= EQUAL * least][-1]
    selected_at = time.process_time()
    shapes = components(kind, chosen, examples, rig)
    network, rows = Network(shapes, examples.q, chosen), np.ones((NETWORKS, len(examples.d)), bool)
    seeds = [100 + k for k in range(NETWORKS)]
    flat, _ = train(network, examples.q, shapes.energy(), rows, seeds, chosen, iterations, False)
    done = time.process_time()

    def predict(q, member=None):
        """The mean of the networks, or one of them."""
        coefficients = network.coefficients(flat, q)
        return shapes.expand([c.mean(0) if member is None else c[member] for c in coefficients])

    return predict, {
        "fit_seconds": done - selected_at, "choose_seconds": selected_at - started,
        "model_bytes": 4 * stored_numbers(network, shapes),
        "left_out_energy": 1 - float(shapes.energy().sum() / (examples.d.astype(float) ** 2).sum()),
        "validated_ratio": error, "settings": chosen | {"iterations": iterations},
        "tried": [s | {"iterations": i, "validated_ratio": e} for e, i, s in tried],
    }


def stored_numbers(network, shapes):
    """Of one network with its shapes; learnt shapes are stored on the vertices that they move."""
    if not network.morphs:
        return len(network.bounds) + sum(basis.size for basis in shapes.bases)
    ((joints,), widths) = network.plan[0]
    of_joints = joints * sum((n + 1) * m for n, m in zip(widths, widths[1:]))
    return of_joints + 3 * network.morphs * sum(len(s) * len(reads) for s, reads in zip(shapes.sets, shapes.reads))


def validate(kind, candidate, examples, rig):
    """The cross-validated error of a setting over that of no correction, and the number of iterations that gives it."""
    shapes = components(kind, candidate, examples, rig)
    network, energy = Network(shapes, examples.q, candidate), shapes.energy()
    rows = np.array([examples.fold != k for k in range(TRIED)])
    _, curve = train(network, examples.q, energy, rows, range(TRIED), candidate, ITERATIONS, True)
    best = int(np.argmin(curve))
    return float(np.sqrt(curve[best] / (energy * ~rows).sum())), (best + 1) * CHECK, candidate


def fit_linear(kind, examples, rig):
    """Ridge regression on R - I; the strength, in mean energies of a joint, is cross-validated over 1e-3 to 1e3."""
    started = time.process_time()
    shapes, z = Shapes(examples.d, *rig.parts(kind == "smpl"), 1e-8), features(examples.q)
    problems = [(z[:, reads].reshape(len(z), -1), c.T) for reads, c in zip(shapes.reads, shapes.coefficients)]
    strengths, unit = np.logspace(-3, 3, 13), (z ** 2).sum() / (z.shape[0] * z.shape[1])
    errors = sum(ridge_errors(a, c, examples.fold, unit * strengths) for a, c in problems)
    best, ratios = int(errors.argmin()), np.sqrt(errors / shapes.energy().sum())
    selected_at = time.process_time()
    maps = [ridge(a, c, unit * strengths[best]) for a, c in problems]
    done = time.process_time()

    def predict(q):
        z = features(q)
        return shapes.expand([(z[:, reads].reshape(len(z), -1) @ m).T for reads, m in zip(shapes.reads, maps)])

    return predict, {
        "fit_seconds": done - selected_at, "choose_seconds": selected_at - started,
        "model_bytes": 4 * sum(9 * len(reads) * 3 * len(s) for reads, s in zip(shapes.reads, shapes.sets)),
        "validated_ratio": float(ratios[best]), "settings": {"ridge": float(strengths[best])},
        "tried": [{"ridge": float(s), "validated_ratio": float(e)} for e, s in zip(ratios, strengths)],
    }


def features(q):
    return (q - np.eye(3)).reshape(*q.shape[:2], 9)


def ridge(a, c, strength):
    """The minimiser m of |a m - c|² + strength |m|², by the equations of the examples (there are few)."""
    return a.T @ np.linalg.solve(a @ a.T + strength * np.eye(len(a)), c)


def ridge_errors(a, c, fold, strengths):
    """The energy of left-out errors for each strength, over all folds."""
    found = np.zeros(len(strengths))
    for k in range(FOLDS):
        fitted, left_out = fold != k, fold == k
        values, u = np.linalg.eigh(a[fitted] @ a[fitted].T)
        to_axes, right = a[left_out] @ a[fitted].T @ u, u.T @ c[fitted]
        for i, strength in enumerate(strengths):
            found[i] += ((to_axes @ (right / (values + strength)[:, None]) - c[left_out]) ** 2).sum()
    return found


# ---- Scores

def stress(predict, own, joints):
    """Corrections in random poses over the same vertex's largest in training: (99.9th percentile, largest)."""
    rng, live = np.random.default_rng(5), own > LIVE * own.max()
    q = random_rotations(rng, (STRESS_POSES, joints), np.radians(STRESS_DEGREES))
    sizes = [np.linalg.norm(predict(q[i : i + 20])[:, live], axis=-1) / own[live] for i in range(0, len(q), 20)]
    return float(np.quantile(sizes, 0.999)), float(np.max(sizes))


def random_rotations(rng, shape, most):
    """Rotations about random axes by up to so many radians (Rodrigues' formula)."""
    axes, angles = rng.normal(size=(*shape, 3)), (most * rng.uniform(size=shape))[..., None, None]
    k = np.zeros((*shape, 3, 3))
    k[..., 2, 1], k[..., 0, 2], k[..., 1, 0] = np.moveaxis(axes / np.linalg.norm(axes, axis=-1, keepdims=True), -1, 0)
    k -= np.swapaxes(k, -1, -2)
    return np.eye(3) + np.sin(angles) * k + (1 - np.cos(angles)) * (k @ k)


def run(data, held_out, count, arguments):
    """Everything about one number of training poses."""
    training = Poses(data, np.linspace(0, len(data["vertices"]) - 1, count).round().astype(int))
    weights, rest, binds = (data[name].astype(float) for name in ("lbs_weights", "rest_vertices", "bind_matrices"))
    rig = Rig(weights, data["bone_parents"])
    mirror = None if arguments.no_mirror else find_mirror(rest, weights, binds, rig)
    examples = Examples(training.at_rest, rig.local(training.rotations), mirror)
    (rms, largest), own = rms_and_largest(held_out.posed), np.linalg.norm(examples.d, axis=-1).max(0)
    if not (rms > 0 and own.max() > 0):
        raise BadInput("linear blend skinning is exact here: there is nothing to correct")
    result = {"poses": count, "examples": len(examples.d), "held_out_poses": len(held_out.posed),
              "vertices": len(rest), "joints": len(rig.joints), "segments": len(rig.segments),
              "lbs_rms": rms, "lbs_largest": largest,
              "mirror": describe(mirror, arguments.no_mirror), "methods": []}
    for kind in arguments.methods:
        q, single = rig.local(held_out.rotations), []
        if kind in SETTINGS:
            predict, facts = fit_network(kind, examples, rig, arguments.as_shipped)
            single = [held_out.score(predict(q, k))[0] / rms for k in range(NETWORKS)]
        else:
            predict, facts = fit_linear(kind, examples, rig)
        error, most = held_out.score(predict(q))
        p999, p100 = stress(predict, own, len(rig.joints))
        result["methods"].append({
            "method": kind, "held_out_rms": error, "ratio": error / rms, "largest_ratio": most / largest,
            "ratio_of_single_networks": single, **facts, "stress_p999": p999, "stress_max": p100})
        print(f"{count} poses, {kind}: ratio {error / rms:.3f}", file=sys.stderr, flush=True)
    return result


def describe(mirror, unwanted):
    if mirror is None:
        return {"found": False, "reason": "--no-mirror" if unwanted else "shape or rig is not symmetric"}
    return {"found": True, "normal": mirror.normal.tolist(), "mean_distance_in_diagonals": float(mirror.distance)}


def print_table(result):
    for r in result["runs"]:
        mirrored = "with mirror images" if r["mirror"]["found"] else "NO MIRROR IMAGES: " + r["mirror"]["reason"]
        print(f"\n{r['poses']} training poses ({mirrored}), {r['held_out_poses']} held out, {r['vertices']} vertices, "
              f"{r['joints']} joints; LBS rms {r['lbs_rms']:.3g}, largest {r['lbs_largest']:.3g}\n")
        print("| method | held-out rms | ratio | largest | fit s | choosing s | MB | stress 99.9 % | max | settings |")
        print("|" + "---|" * 10)
        for m in r["methods"]:
            chosen = " ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in m["settings"].items())
            print(f"| {m['method']} | {m['held_out_rms']:.3g} | {m['ratio']:.3f} | {m['largest_ratio']:.2f} | "
                  f"{m['fit_seconds']:.2f} | {m['choose_seconds']:.1f} | {m['model_bytes'] / 1e6:.1f} | "
                  f"{m['stress_p999']:.2f} | {m['stress_max']:.2f} | {chosen} |")
    print(f"\nRatios are over LBS with the artist's weights, held out. Seconds: of one processor, for all {NETWORKS} "
          f"networks. MB: {COUNTED}.\nStress: corrections at rest in {STRESS_POSES} random poses, joints turned by up "
          f"to {STRESS_DEGREES} degrees, over the same vertex's largest in training;\nvertices that training "
          f"corrects by less than {LIVE:.0%} of its largest correction are left out.")


# ---- Checks

def check():
    """Prints the checks; whether all pass."""
    rng = np.random.default_rng(3)
    results = [(f"gradient, {kind} {number}", check_gradient(kind, chosen, rng), 1e-5)
               for kind, several in SETTINGS.items() for number, chosen in enumerate(several)]
    results += [("smpl against a dense solve", check_ridge(rng), 1e-9), ("mirrored twice", check_mirror(rng), 1e-12)]
    for name, error, bound in results:
        print(f"{'ok  ' if error < bound else 'FAIL'} {name}: {error:.1e}, below {bound:.0e}")
    return all(error < bound for _, error, bound in results)


def toy(rng):
    """A symmetric character of three bones and two joints: rest, weights, bind matrices, rig, random examples."""
    half, binds = rng.uniform(0.1, 1, (40, 3)), np.tile(np.eye(4), (3, 1, 1))
    rest = np.concatenate([half, half * [-1, 1, 1]])
    binds[:, 0, 3] = 0, 0.6, -0.6
    weights = np.exp(-20 * ((rest[:, None, 0] - binds[:, 0, 3]) ** 2))
    weights /= weights.sum(1, keepdims=True)
    rig = Rig(weights, np.array([-1, 0, 0]))
    return rest, weights, binds, rig, Examples(rng.normal(size=(12, 80, 3)), random_rotations(rng, (12, 2), 2), None)


def check_gradient(kind, chosen, rng):
    """The largest relative error, over all layers, of the derivative in a random direction; by central differences."""
    *_, rig, examples = toy(rng)
    rig.region[0, 1:] = False  # some sets do not read all joints
    network = Network(components(kind, chosen, examples, rig), examples.q, chosen, float)
    x, weights, flat = network.inputs(examples.q), rng.uniform(0.5, 1, (2, 1, 12)), network.start([1, 2])
    views, gradients = network.views(flat), network.views(network.gradient(flat, x, weights)[1])
    worst, step = 0.0, 1e-5
    for p, g in zip(sum(sum(views, []), []), sum(sum(gradients, []), [])):
        direction, saved, ends = rng.normal(size=p.shape), p.copy(), []
        for sign in (1, -1):
            p[...] = saved + sign * step * direction
            ends.append(network.gradient(flat, x, weights)[0])
        p[...] = saved
        exact, measured = (g * direction).sum(), (ends[0] - ends[1]) / (2 * step)
        worst = max(worst, abs(exact - measured) / max(abs(exact), abs(measured), 1e-12))
    return worst


def check_ridge(rng):
    """The largest difference of predictions from those of the normal equations on all vertices, over the largest."""
    *_, rig, examples = toy(rng)
    other = toy(rng)[-1].q
    predict, facts = fit_linear("smpl", examples, rig)
    a, b = features(examples.q).reshape(12, -1), features(other).reshape(12, -1)
    strength = facts["settings"]["ridge"] * (a ** 2).sum() / (12 * 2)
    dense = b @ np.linalg.solve(a.T @ a + strength * np.eye(a.shape[1]), a.T @ examples.d.reshape(12, -1))
    return float(np.abs(predict(other).reshape(12, -1) - dense).max() / np.abs(dense).max())


def check_mirror(rng):
    """The largest change of residuals and rotations that are mirrored twice; infinite if none is found."""
    rest, weights, binds, rig, examples = toy(rng)
    mirror = find_mirror(rest, weights, binds, rig)
    if mirror is None or (mirror.joints != [1, 0]).any():
        return np.inf
    d, q = (f(f(a)) - a for f, a in ((mirror.residuals, examples.d), (mirror.rotations, examples.q)))
    return float(max(np.abs(d).max(), np.abs(q).max()))


# ---- Program

def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", nargs="?", metavar="TRAIN[#SELECT]")
    parser.add_argument("held_out", nargs="?", metavar="HELD_OUT[#SELECT]")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma separated; all by default")
    parser.add_argument("--poses", default="", help="train on so many poses, evenly spread; several give a curve")
    parser.add_argument("--as-shipped", action="store_true", help="networks: nothing chosen, all iterations (slow)")
    parser.add_argument("--no-mirror", action="store_true", help="without mirror images of the examples")
    parser.add_argument("--json", action="store_true", help="JSON in place of a table")
    parser.add_argument("--check", action="store_true", help="check gradients, ridge and mirror, without files")
    arguments = parser.parse_args(argv)
    if not arguments.check and not arguments.held_out:
        parser.error("TRAIN and HELD_OUT are needed")
    arguments.methods = arguments.methods.split(",")
    unknown = [method for method in arguments.methods if method not in METHODS]
    if unknown:
        parser.error(f'"{unknown[0]}" is no method; there are {", ".join(METHODS)}')
    if not re.fullmatch(r"(\d+(,\d+)*)?", arguments.poses):
        parser.error(f'--poses needs numbers, not "{arguments.poses}"')
    return arguments


def compare(arguments):
    """What the program prints, as a dictionary."""
    data, held_data = read_bundle(arguments.train), read_bundle(arguments.held_out)
    for name in ("rest_vertices", "bone_parents", "bind_matrices", "lbs_weights"):
        a, b = data[name], held_data[name]
        if a.shape != b.shape or np.abs(a - b).max() > 1e-5 * np.abs(a).max():
            raise BadInput(f"{arguments.held_out}: not the character of {arguments.train}: {name} differs")
    total = len(data["vertices"])
    counts = [int(n) for n in arguments.poses.split(",")] if arguments.poses else [total]
    for count in counts:
        if not FOLDS <= count <= total:
            raise BadInput(f"{count} training poses: {FOLDS} are needed, and there are {total}")
    held_out = Poses(held_data)
    runs = [run(data, held_out, count, arguments) for count in counts]
    return {"numpy": np.__version__, "train": arguments.train, "held_out": arguments.held_out, "networks": NETWORKS,
            "as_shipped": arguments.as_shipped, "model_bytes_count": COUNTED, "runs": runs}


def main():
    arguments = parse(sys.argv[1:])
    if arguments.check:
        sys.exit(0 if check() else 1)
    try:
        result = compare(arguments)
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    if arguments.json:
        print(json.dumps(result))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
