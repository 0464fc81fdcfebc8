"""mi_attention."""
