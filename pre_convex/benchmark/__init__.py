"""The solver benchmark: problems with known answers, a process for every solve, and certificates as judges."""
