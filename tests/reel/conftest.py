"""Properties are judged by what they find, never by how long a machine took."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
