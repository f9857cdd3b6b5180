"""What people look at in a browser: server-rendered, read only, the same without scripts."""
