"""For all tests."""

from hypothesis import settings

# A busy machine is no reason for a property not to hold.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
