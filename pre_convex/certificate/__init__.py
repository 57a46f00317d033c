"""Certificates: the lift, the duality gap it proves, and mixtures where no lift exists."""
