"""The three bindings (§9 to §11) without I/O: operations and messages to requests and answers, and back."""
