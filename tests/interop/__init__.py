"""Real peers: the SDKs of the protocol's authors."""
