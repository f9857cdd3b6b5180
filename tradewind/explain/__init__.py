"""Why a pod is where it is, or why it is nowhere: decisions, comparison, sentences, reports."""
