# SPDX-License-Identifier: GPL-3.0-or-later
"""What settings of methods do, in the library's words. Made by crates/dermis-fit/tests/settings.rs; do not edit."""

HELP = {
    "lambda": "Strength of the ridge: 0 follows the examples closely, larger is calmer between them",
    "mirror": "Every example teaches both sides of a rig with a left and a right",
}
