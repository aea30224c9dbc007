"""Poses of the bundled body: anatomical angles as bone matrices, the exercise and the walk.

`tools/make_body.py` uses it. Lengths are metres, Z is up, the body faces -Y and its
left is +X. Matrices are [row, column] and act on column vectors.
"""
import math

import numpy as np

BODY_VERTICES = 13380        # the first vertices of the base mesh: the "body" group


def smoothstep(x, low, high):
    """0 below `low`, 1 above `high`, smooth in between (`low` > `high` works too)."""
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def unit(v):
    """v at length one."""
    return np.asarray(v) / np.linalg.norm(v)


# ---------------------------------------------------------------------- rotations

def turn(axis, degrees):
    """The rotation by an angle about an axis."""
    x, y, z = unit(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    a = math.radians(degrees)
    return np.eye(3) + math.sin(a) * k + (1 - math.cos(a)) * k @ k


def swing(a, b):
    """The shortest rotation that takes direction a to direction b."""
    axis = np.cross(a, b)
    if np.linalg.norm(axis) < 1e-9:
        return np.eye(3)
    return turn(axis, math.degrees(math.atan2(np.linalg.norm(axis), np.dot(a, b))))


def angle(a, b):
    """The angle between two directions, in degrees."""
    return math.degrees(math.acos(np.clip(np.dot(unit(a), unit(b)), -1, 1)))


X, Y, Z = np.eye(3)
FINGERS = ("index", "middle", "ring", "pinky")


class Poser:
    """Turns anatomical angles (degrees) into bone matrices.

    A pose is a dict. For each side `_l` and `_r`:
      arm (flexion, abduction, twist in)  from hanging down; elbow (0 is straight)
      clavicle (raise, forward), added to what the arm brings with it
      forearm (supination), wrist (flexion, towards the thumb)
      fingers (curl, -0.2..1, or one for each finger), thumb (curl), spread
      hip (flexion, abduction, twist out), knee, ankle (up, sole inwards), toes (up)
      sole (toes up, turn left), against the ground and instead of the ankle
    and in the middle: spine, neck, pelvis (forwards, to the left, turn left).
    root (turn left) and shift (metres) place the body. What is left out stays at
    rest; zero is the rest pose, except for arm and elbow.
    """

    def __init__(self, body):
        self.body = body
        self.sole = [v for v in range(BODY_VERTICES) if body.rest[v, 2] < 0.02]
        self.sole_bones = body.weights[self.sole].argmax(axis=1)
        self.elbow_rest = angle(body.direction("upperarm_l"), body.direction("lowerarm_l"))

    def turns(self, pose):
        """The rotation of each bone against its parent, in the axes of the rest pose."""
        turns = {}
        for part, bones in (("spine", {"spine_01": .3, "spine_02": .35, "spine_03": .35}),
                            ("neck", {"neck_01": .45, "head": .55}),
                            ("pelvis", {"pelvis": 1.})):
            front, left, spin = pose.get(part, (0, 0, 0))
            for bone, share in bones.items():
                turns[bone] = (turn(Z, spin * share) @ turn(Y, left * share)
                               @ turn(X, front * share))
        turns["Root"] = turn(Z, pose.get("root", 0))
        for side in "lr":
            self.arm(pose, side, turns)
            self.hand(pose, side, turns)
            self.leg(pose, side, turns)
        return turns

    def arm(self, pose, side, turns):
        """Collar bone, upper arm and forearm of one side."""
        s = 1 if side == "l" else -1
        upper = self.body.direction("upperarm_" + side)
        lower = self.body.direction("lowerarm_" + side)
        raised, forward = pose.get("clavicle_" + side, (0, 0))
        aim, twist = upper, 0
        if "arm_" + side in pose:
            flexion, abduction, twist = pose["arm_" + side]
            f, b = math.radians(flexion), math.radians(abduction)
            aim = np.array([s * math.sin(b), -math.cos(b) * math.sin(f),
                            -math.cos(b) * math.cos(f)])
            # The shoulder girdle follows the arm.
            raised += 28 * smoothstep(angle(aim, -Z), 35, 170)
            forward += 14 * (abs(aim[1]) * -aim[1] - upper[1])
        collar = turn(Z, -s * forward) @ turn(Y, -s * raised)
        turns["clavicle_" + side] = collar
        turns["upperarm_" + side] = collar.T @ turn(aim, s * twist) @ swing(upper, aim)
        bend = pose.get("elbow_" + side, self.elbow_rest) - self.elbow_rest
        supination = pose.get("forearm_" + side, 0)
        turns["lowerarm_" + side] = (turn(np.cross(upper, lower), bend)
                                     @ turn(lower, -s * 0.5 * supination))

    def hand(self, pose, side, turns):
        """Wrist and fingers of one side."""
        s = 1 if side == "l" else -1
        body = self.body
        along = unit(body.head("middle_01_" + side) - body.head("hand_" + side))
        thumbwards = body.head("index_01_" + side) - body.head("pinky_01_" + side)
        palm = s * unit(np.cross(along, thumbwards))
        flexion, deviation = pose.get("wrist_" + side, (0, 0))
        lower = body.direction("lowerarm_" + side)
        turns["hand_" + side] = (
            turn(np.cross(along, palm), flexion)
            @ turn(np.cross(along, thumbwards), deviation)
            @ turn(lower, -s * 0.5 * pose.get("forearm_" + side, 0)))
        curls = np.broadcast_to(pose.get("fingers_" + side, 0.0), 4)
        for finger, curl, fan in zip(FINGERS, curls, (1, 0.2, -0.6, -1.4)):
            for joint, reach in (("01", 70), ("02", 85), ("03", 55)):
                bone = f"{finger}_{joint}_{side}"
                bend = reach * curl if joint == "01" or curl > 0 else 0.3 * reach * curl
                turns[bone] = turn(np.cross(body.direction(bone), palm), bend)
            spread = pose.get("spread_" + side, 0) * fan
            knuckle = f"{finger}_01_{side}"
            turns[knuckle] = turns[knuckle] @ turn(np.cross(along, thumbwards), spread)
        first, last = (body.direction(f"thumb_{j}_{side}") for j in ("01", "03"))
        for joint, reach in (("01", 12), ("02", 30), ("03", 45)):
            turns[f"thumb_{joint}_{side}"] = turn(np.cross(first, last),
                                                  reach * pose.get("thumb_" + side, 0))

    def leg(self, pose, side, turns):
        """Hip, knee, ankle and toes of one side."""
        s = 1 if side == "l" else -1
        flexion, abduction, out = pose.get("hip_" + side, (0, 0, 0))
        up, inward = pose.get("ankle_" + side, (0, 0))
        thigh = self.body.direction("thigh_" + side)
        turns["thigh_" + side] = (turn(X, -flexion) @ turn(Y, -s * abduction)
                                  @ turn(thigh, -s * out))
        turns["calf_" + side] = turn(X, pose.get("knee_" + side, 0))
        turns["foot_" + side] = turn(X, -up) @ turn(Y, s * inward)
        if "sole_" + side in pose:
            up, left = pose["sole_" + side]
            above = turns["Root"] @ turns["pelvis"] @ turns["thigh_" + side] @ turns["calf_" + side]
            turns["foot_" + side] = above.T @ turn(Z, left) @ turn(X, -up)
        turns["ball_" + side] = turn(X, -pose.get("toes_" + side, 0))

    def skinning(self, pose):
        """The skinning matrix (posed times inverse rest) of each bone."""
        turns, result = self.turns(pose), []
        for i, name in enumerate(self.body.bones):
            head, move = self.body.heads[i], np.eye(4)
            move[:3, :3] = turns.get(name, np.eye(3))
            move[:3, 3] = head - move[:3, :3] @ head
            if name == "Root":
                move[:3, 3] += pose.get("shift", (0, 0, 0))
            parent = self.body.parents[i]
            result.append(result[parent] @ move if parent >= 0 else move)
        return np.array(result)

    def sole_points(self, skinning):
        """Where the points under the feet go (moved rigidly, that is enough here)."""
        points = np.c_[self.body.rest[self.sole], np.ones(len(self.sole))]
        return np.einsum("vij,vj->vi", skinning[self.sole_bones], points)[:, :3]

    def grounded(self, pose):
        """The pose, shifted up or down so that the lower foot is on the ground."""
        x, y, z = pose.get("shift", (0, 0, 0))
        lowest = self.sole_points(self.skinning(pose))[:, 2].min()
        rest = self.body.rest[self.sole, 2].min()
        return {**pose, "shift": (x, y, z + rest - lowest)}

    def ankle_over(self, side, place, up, left):
        """Where the ankle is when the foot stands at `place` and rolls by `up`.

        `place` is the point below the ankle when the sole is flat. The foot rolls
        over the heel (up > 0) or over the ball.
        """
        body = self.body
        ankle = body.head("foot_" + side)
        sole = [v for v in self.sole if body.rest[v, 0] * ankle[0] > 0]
        heel = np.array([ankle[0], body.rest[sole, 1].max() - 0.02, 0])
        pivot = heel if up > 0 else body.head("ball_" + side)
        rolled = pivot + turn(X, -up) @ (ankle - pivot) - ankle * (1, 1, 0)
        return np.asarray(place) + turn(Z, left) @ rolled

    def reach(self, pose, side, ankle):
        """The pose with this side's hip and knee solved so that the ankle is there."""
        hip, knee = "hip_" + side, "knee_" + side
        angles = np.array([*pose.get(hip, (15, 0, 0))[:2], pose.get(knee, 30)], float)
        out = pose.get(hip, (0, 0, 0))[2]
        joint = np.append(self.body.head("foot_" + side), 1)

        def error(a):
            posed = self.skinning({**pose, hip: (a[0], a[1], out), knee: a[2]})
            return (posed[self.body.index["calf_" + side]] @ joint)[:3] - ankle

        for _ in range(12):                                  # damped least squares
            miss = error(angles)
            slope = np.array([error(angles + d) - miss for d in np.eye(3)]).T
            angles -= np.linalg.solve(slope.T @ slope + 1e-7 * np.eye(3), slope.T @ miss)
            angles[2] = max(angles[2], 3)
        return {**pose, hip: (angles[0], angles[1], out), knee: angles[2]}

    def activations(self, skinning):
        """Muscle activations 0..1, smooth functions of the joint angles; 0 at rest."""
        body, act = self.body, {}

        def way(bone):
            return skinning[body.index[bone]][:3, :3] @ body.direction(bone)

        def either(a, b):
            return 1 - (1 - a) * (1 - b)

        chest = skinning[body.index["spine_03"]][:3, :3]
        hips = skinning[body.index["pelvis"]][:3, :3]
        for side in "lr":
            s = 1 if side == "l" else -1
            rest = body.direction("upperarm_" + side)
            arm = chest.T @ way("upperarm_" + side)          # in the axes of the chest
            elbow = angle(way("upperarm_" + side), way("lowerarm_" + side))
            curl = angle(way("hand_" + side), way("middle_02_" + side)) - angle(
                body.direction("hand_" + side), body.direction("middle_02_" + side))
            hand = skinning[body.index["lowerarm_" + side]][:3, :3].T @ way("hand_" + side)
            wrist = angle(hand, body.direction("hand_" + side))
            act["biceps_" + side] = smoothstep(elbow, self.elbow_rest, 135)
            act["triceps_" + side] = smoothstep(elbow, self.elbow_rest, 0)
            act["deltoid_" + side] = smoothstep(angle(arm, rest), 0, 90)
            act["forearm_" + side] = either(smoothstep(abs(curl), 0, 80),
                                          0.8 * smoothstep(wrist, 0, 60))
            inward = np.dot(arm - rest, unit([-s, -1, 0]))
            act["pectoral_" + side] = smoothstep(inward, 0, 1.3)
            act["dorsi_" + side] = either(smoothstep(arm[1] - rest[1], 0, 0.7),
                                        0.7 * smoothstep(arm[2] - rest[2], 0.2, 1.7))
            thigh = hips.T @ way("thigh_" + side)
            bend = angle(thigh, body.direction("thigh_" + side))
            forward = -(thigh - body.direction("thigh_" + side))[1]
            calf = skinning[body.index["thigh_" + side]][:3, :3].T @ way("calf_" + side)
            knee = angle(calf, body.direction("calf_" + side))
            foot = skinning[body.index["calf_" + side]][:3, :3].T @ way("foot_" + side)
            down = -(foot - body.direction("foot_" + side))[2]
            act["quads_" + side] = smoothstep(bend * (forward > 0), 0, 90)
            act["hamstrings_" + side] = smoothstep(knee, 5, 120)
            act["glute_" + side] = smoothstep(-forward, 0, 0.5)
            act["calf_" + side] = either(smoothstep(down, 0, 0.6),
                                       0.5 * smoothstep(knee, 10, 110))
        crunch = skinning[body.index["pelvis"]][:3, :3].T @ chest @ Z
        act["abdomen"] = smoothstep(-crunch[1], 0, 0.6)
        return [float(act[name]) for name in body.muscles]


# -------------------------------------------------------------------------- poses

def both(**pose):
    """A pose with the same values on both sides."""
    return {f"{k}_{s}": v for k, v in pose.items() for s in "lr"}


STAND = both(arm=(4, 17, 0), elbow=18, fingers=0.15, spread=-5)      # arms hanging


def exercise(poser, seed=7, random_poses=3):
    """The range of motion exercise: a list of (label, pose), the first at rest."""
    def stand(**pose):
        return {**STAND, **pose}

    poses = [
        ("rest", {}),
        ("arms side", both(arm=(0, 90, 0), elbow=5)),
        ("arm up left", stand(arm_l=(0, 168, 0), elbow_l=12, arm_r=(10, 55, 0))),
        ("arm up right", stand(arm_r=(165, 12, 0), elbow_r=10, arm_l=(88, 0, 0), elbow_l=5)),
        ("arm forward right", stand(arm_r=(90, 5, 0), elbow_r=4, arm_l=(-48, 14, 0), elbow_l=8)),
        ("arm back right", stand(arm_r=(-50, 16, 0), elbow_r=10, arm_l=(60, 40, 0), elbow_l=60)),
        ("arm across left", stand(arm_l=(85, -32, 0), elbow_l=45, arm_r=(20, 110, 0), elbow_r=30)),
        ("arm across right", stand(arm_r=(85, -32, 0), elbow_r=40, arm_l=(40, 120, 0), elbow_l=75)),
        ("shrug, nod", stand(clavicle_l=(22, 6), clavicle_r=(14, -8), elbow_l=30,
                             neck=(38, 0, 0))),
        ("shoulders down, feet", stand(
            clavicle_l=(-6, 16), clavicle_r=(4, -14), arm_l=(35, 25, 0), elbow_r=40,
            hip_l=(18, 4, 0), ankle_l=(22, 12), toes_l=25, knee_l=4, hip_r=(12, 2, 0),
            ankle_r=(13, -3), knee_r=25)),
        ("shoulder twist one", {**both(elbow=90), "arm_l": (0, 80, 50), "arm_r": (0, 75, -50)}),
        ("shoulder twist two", {**both(elbow=90), "arm_l": (0, 60, -50), "arm_r": (10, 70, 50)}),
        ("elbow left, look left", stand(arm_l=(25, 30, 0), elbow_l=140, arm_r=(15, 25, 0),
                                        elbow_r=0, neck=(5, -12, 60))),
        ("elbow right, look right", stand(arm_r=(25, 30, 0), elbow_r=138, arm_l=(20, 25, 0),
                                          elbow_l=85, neck=(-5, 28, -45))),
        ("double biceps", {**both(fingers=0.95, thumb=0.8, wrist=(15, 0)),
                           "arm_l": (5, 92, -68), "arm_r": (5, 80, -60),
                           "elbow_l": 120, "elbow_r": 105}),
        ("forearm twist one", stand(arm_l=(20, 20, 0), elbow_l=90, forearm_l=70,
                                    arm_r=(20, 20, 0), elbow_r=80, forearm_r=-70)),
        ("forearm twist two, look up", stand(
            arm_l=(40, 30, 0), elbow_l=70, forearm_l=-70, arm_r=(40, 30, 0), elbow_r=60,
            forearm_r=70, neck=(-38, 0, 0), spine=(-6, 0, 0))),
        ("wrists one", stand(arm_l=(50, 30, 0), elbow_l=50, wrist_l=(60, 0),
                             arm_r=(50, 30, 0), elbow_r=50, wrist_r=(-55, 0))),
        ("wrists two", stand(arm_l=(60, 35, 0), elbow_l=40, wrist_l=(-55, 12),
                             arm_r=(60, 35, 0), elbow_r=70, wrist_r=(60, -15))),
        ("fist left", stand(arm_l=(30, 20, 0), elbow_l=70, fingers_l=1.0, thumb_l=0.9,
                            arm_r=(30, 20, 0), elbow_r=60, fingers_r=-0.2, spread_r=11,
                            thumb_r=-0.4)),
        ("fist right", stand(arm_r=(30, 20, 0), elbow_r=90, fingers_r=1.0, thumb_r=0.9,
                             arm_l=(80, 10, 0), elbow_l=15, fingers_l=(0, .9, .95, 1.),
                             thumb_l=0.6)),
        ("spine forward", stand(spine=(52, 0, 0), pelvis=(25, 0, 0), neck=(10, 0, 0),
                                hip_l=(25, 0, 0), hip_r=(25, 0, 0),
                                arm_l=(70, 15, 0), arm_r=(55, 15, 0))),
        ("spine back", stand(spine=(-28, 0, 0), neck=(-15, 0, 0), arm_l=(-20, 25, 0),
                             arm_r=(-15, 30, 0))),
        ("spine left", stand(spine=(0, 32, 0), neck=(0, 15, 0), arm_r=(0, 160, 0), elbow_r=35,
                             arm_l=(4, 30, 0))),
        ("spine right", stand(spine=(5, -32, 0), neck=(0, -20, 0), arm_l=(0, 135, 0), elbow_l=60,
                              arm_r=(4, 30, 0))),
        ("turn left", stand(spine=(0, 0, 42), neck=(0, 0, 30), arm_l=(-20, 45, 0), elbow_l=60,
                            arm_r=(55, 0, 0), elbow_r=70)),
        ("turn right", stand(spine=(8, 0, -42), neck=(0, 0, -35), arm_r=(-20, 45, 0), elbow_r=50,
                             arm_l=(50, 0, 0), elbow_l=80)),
        ("knee up left", stand(hip_l=(95, 5, 0), knee_l=100, ankle_l=(-10, 0),
                               arm_r=(45, 12, 0), elbow_r=75, arm_l=(-25, 17, 0))),
        ("kick right", stand(hip_r=(75, 5, 0), knee_r=10, ankle_r=(-25, 0), spine=(10, 0, 10),
                             arm_l=(55, 35, 0), arm_r=(-25, 30, 0))),
        ("leg back left", stand(hip_l=(-25, 4, 0), knee_l=20, ankle_l=(-25, 0), toes_l=20,
                                spine=(8, 0, 0), pelvis=(12, 0, 0), hip_r=(12, 0, 0))),
        ("leg back right", stand(hip_r=(-28, 5, 5), knee_r=75, ankle_r=(-20, 0),
                                 hip_l=(14, 0, 0), pelvis=(10, 0, 0), arm_l=(30, 18, 0))),
        ("legs apart", stand(hip_l=(4, 28, 8), hip_r=(4, 27, 5), ankle_l=(4, 20),
                             ankle_r=(4, 19), arm_l=(0, 75, 0), arm_r=(0, 60, 0))),
        ("leg side right", stand(hip_r=(5, 44, 18), ankle_r=(-15, -5), spine=(0, 10, 0),
                                 pelvis=(0, 8, 0), hip_l=(0, 8, 0), arm_r=(0, 60, 0),
                                 arm_l=(0, 45, 0))),
        ("hip twist", stand(hip_l=(60, 20, 38), knee_l=95, hip_r=(4, 0, -18), knee_r=8,
                            ankle_r=(4, 0), arm_r=(0, 45, 0), arm_l=(0, 40, 0))),
        ("heel up left", stand(hip_l=(5, 0, -10), knee_l=115, ankle_l=(-15, 0),
                               arm_r=(20, 20, 0), elbow_r=60)),
        ("squat", stand(hip_l=(90, 14, 12), knee_l=95, ankle_l=(25, 0),
                        hip_r=(90, 10, 8), knee_r=95, ankle_r=(25, 0),
                        pelvis=(20, 0, 0), spine=(14, 0, 0), neck=(-18, 0, 0),
                        arm_l=(100, 10, 0), arm_r=(95, 14, 0))),
        ("lunge right", stand(hip_r=(64, 4, 0), knee_r=64, ankle_r=(0, 0),
                              hip_l=(-14, 4, 0), knee_l=62, ankle_l=(20, 0), toes_l=56,
                              spine=(6, 0, -8), arm_l=(40, 16, 0), elbow_l=70,
                              arm_r=(-30, 18, 0))),
        ("tiptoe", stand(ankle_l=(-32, 0), toes_l=32, ankle_r=(-30, 0), toes_r=30,
                         arm_l=(115, 40, 0), elbow_l=30, arm_r=(0, 130, 0), elbow_r=50)),
        ("throw", stand(spine=(-8, -6, -25), arm_r=(-15, 100, -45), elbow_r=100,
                        fingers_r=0.6, thumb_r=0.5, wrist_r=(-35, 0), arm_l=(70, 25, 0),
                        elbow_l=30, hip_l=(16, 8, 0), knee_l=8, ankle_l=(-8, 0),
                        hip_r=(-8, 8, 12), knee_r=18, ankle_r=(16, 0), neck=(0, 0, 25))),
    ]
    dice = np.random.default_rng(seed)

    def pick(low, high):
        """A random angle, in whole degrees, more often in the middle of the range."""
        return round(float(low + (high - low) * dice.beta(1.4, 1.4)))

    for number in range(random_poses):
        pose = {"spine": (pick(-10, 30), pick(-16, 16), pick(-25, 25)),
                "neck": (pick(-20, 25), pick(-15, 15), pick(-35, 35))}
        for side in "lr":
            flexion = pick(-20, 120)
            pose |= {
                "arm_" + side: (flexion, pick(14, 60), pick(-30, 25)),
                "elbow_" + side: pick(5, 115), "forearm_" + side: pick(-55, 55),
                "wrist_" + side: (pick(-35, 40), pick(-10, 10)),
                "fingers_" + side: pick(0, 90) / 100, "thumb_" + side: pick(0, 70) / 100}
        pose["pelvis"] = (pick(0, 20), pick(-5, 5), pick(-12, 12))
        pose["shift"] = (pick(-6, 6) / 100, pick(-8, 4) / 100, pick(-24, -3) / 100)
        for side, s in (("l", 1), ("r", -1)):                # feet on the ground
            place = (s * pick(10, 32) / 100, pick(-30, 25) / 100, 0)
            left = s * pick(5, 25)
            up = min(0, -50 * (place[1] - 0.05))             # heel up where it is behind
            pose |= {"hip_" + side: (15, 0, s * left), "sole_" + side: (up, left),
                     "toes_" + side: -up}
            pose = poser.reach(pose, side, poser.ankle_over(side, place, up, left))
        poses.append((f"random {number + 1}", pose))
    return poses


def bump(phase, centre, sharpness):
    """A smooth periodic bump of height one; phases are parts of a cycle."""
    return math.exp(sharpness * (math.cos(2 * math.pi * (phase - centre)) - 1))


def stride(phase):
    """The upper body at one moment of a walk cycle; the left heel lands at phase 0."""
    wave, late = math.cos(2 * math.pi * phase), math.sin(2 * math.pi * phase)
    pose = {"spine": (4, -2.5 * late, 9 * wave), "neck": (-3, 1.5 * late, -4 * wave),
            "pelvis": (3, 3.5 * math.sin(2 * math.pi * phase + 0.3), -5 * wave)}
    for side, p in (("l", phase), ("r", phase + 0.5)):
        reach = -math.cos(2 * math.pi * p + 0.15)            # 1: arm furthest forward
        pose |= {"arm_" + side: (3 + 20 * reach, 14, 8), "elbow_" + side: 24 + 14 * reach,
                 "fingers_" + side: 0.22, "thumb_" + side: 0.2, "spread_" + side: -5,
                 "wrist_" + side: (4 * reach, 0)}
    return pose


def walk(poser, frames=12, cycle=16 / 15, length=1.2, turning=18.0):
    """A walk cycle that moves along, to the left: (times, list of (label, pose)).

    The upper body and the hips move in sinusoids. A foot stays where it lands,
    rolls from heel to toe, and swings to its next place; hip and knee follow it.
    """
    def path(phase):
        """Where the walker is, and the heading in degrees."""
        r, a = length / math.radians(turning), math.radians(turning * phase)
        return np.array([r * (1 - math.cos(a)), -r * math.sin(a), 0]), turning * phase

    def ankle(side, step, p, up):
        """The ankle above the place of one step, and the heading of that foot."""
        s = 1 if side == "l" else -1
        here, left = path(step + 0.25 + (0 if s == 1 else 0.5))
        place = here + turn(Z, left) @ (s * 0.085, 0.02, 0)
        left += s * 6
        return poser.ankle_over(side, place, up, left), left

    result = []
    for frame in range(frames):
        phase = frame / frames
        pose = stride(phase)
        here, pose["root"] = path(phase)
        sway = 0.016 * math.sin(2 * math.pi * (phase - 0.02))
        bob = -0.027 - 0.016 * math.cos(4 * math.pi * (phase - 0.04))
        pose["shift"] = tuple(here + turn(Z, pose["root"]) @ (sway, 0, bob))
        for side, cycles in (("l", phase), ("r", phase - 0.5)):
            step, p = divmod(cycles, 1)
            up = 20 * bump(p, 0.98, 14) - 54 * bump(p, 0.64, 4.5)
            swing_part = float(smoothstep(p, 0.6, 1))
            (a, left), (b, next_left) = ankle(side, step, p, up), ankle(side, step + 1, p, up)
            target = a + swing_part * (b - a)
            target[2] += 0.075 * bump(p, 0.73, 9)
            left += swing_part * (next_left - left)
            out = (left - pose["root"]) * (1 if side == "l" else -1)
            pose |= {"hip_" + side: (10, 0, out), "sole_" + side: (up, left),
                     "toes_" + side: max(0, -up) * (1 - swing_part)}
            pose = poser.reach(pose, side, target)
        result.append((f"walk {frame:02d}", pose))
    return [i * cycle / frames for i in range(frames)], result
