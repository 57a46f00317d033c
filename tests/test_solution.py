"""Certificate and Solution: what is proven, and what an answer says of itself."""
