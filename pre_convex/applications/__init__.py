"""The paper's two applications as tools: detection of a latent signal, and local explanation of a classifier."""
