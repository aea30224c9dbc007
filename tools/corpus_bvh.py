"""Reads BVH files by forward kinematics: where joints stand at a frame, in units of the file."""

import numpy as np


class Bvh:
    """The joints of one file with their parents, offsets and channels, and its frames."""

    def __init__(self, path):
        words = path.read_text(encoding="utf-8-sig", errors="replace").split()
        self.names, self.parents, self.offsets, self.channels = [], [], [], []
        stack, at, is_end, self.ends = [], 0, False, 0
        while words[at].upper() != "MOTION":
            word = words[at].upper()
            if word in ("ROOT", "JOINT"):
                name = []
                while words[at + 1] != "{":
                    at += 1
                    name.append(words[at])
                self.names.append(" ".join(name))
                self.parents.append(stack[-1] if stack else -1)
                self.offsets.append(np.zeros(3))
                self.channels.append([])
                is_end = False
            elif word == "END":
                is_end = True
                self.ends += 1
            elif word == "{":
                stack.append(None if is_end else len(self.names) - 1)
            elif word == "}":
                stack.pop()
                is_end = False
            elif word == "OFFSET" and not is_end:
                self.offsets[-1] = np.array(words[at + 1 : at + 4], float)
            elif word == "CHANNELS" and not is_end:
                count = int(words[at + 1])
                self.channels[-1] = [word.capitalize() for word in words[at + 2 : at + 2 + count]]
            at += 1
        frames = int(words[at + 2])
        values = np.array(words[at + 6 :], float)
        width = sum(map(len, self.channels))
        self.frames = values[: frames * width].reshape(frames, width)

    def joints(self, frame):
        """Positions of all joints at a frame."""
        values, world = iter(self.frames[frame]), []
        for joint, parent in enumerate(self.parents):
            place, turn = self.offsets[joint].copy(), np.eye(3)
            moved = np.zeros(3)
            for channel in self.channels[joint]:
                axis, value = "XYZ".index(channel[0].upper()), next(values)
                if channel.lower().endswith("position"):
                    moved[axis] = value
                else:
                    turn = turn @ about(axis, np.radians(value))
            # A position channel stands in the place of the offset.
            if any(channel.lower().endswith("position") for channel in self.channels[joint]):
                place = moved
            if parent >= 0:
                above, around = world[parent]
                place, turn = above + around @ place, around @ turn
            world.append((place, turn))
        return np.array([place for place, _ in world])


def about(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    turn = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
    return turn
