"""A picture of the Grafana dashboard, drawn from its own queries; Grafana is not needed, and not shown."""
