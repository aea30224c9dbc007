# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the package `dermis` comes from: Blender installs it with the extension, as a wheel."""

import dermis  # noqa: F401
