class MeasurementError(Exception):
    """The figures would not mean what they say."""
