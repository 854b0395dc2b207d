"""What an A2A client reads before its first message."""
