"""What the nodes cost, what they would cost with Tradewind, and why it can be believed."""
