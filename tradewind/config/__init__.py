"""The TradewindConfiguration: the document, presets, workload classes, and the one in force."""
