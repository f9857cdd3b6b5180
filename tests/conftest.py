"""For all tests."""

from hypothesis import settings

# A busy machine is no reason for a property not to hold. The same examples each time: what fails is the fault
# of the change that is being tested. New ones are drawn every night, with --hypothesis-profile=drawn.
settings.register_profile("drawn", deadline=None, print_blob=True)
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")
