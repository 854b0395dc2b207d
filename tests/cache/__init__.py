"""The card cache, by the sections of RFC 9111 and RFC 5861."""
