"""Studies: a TOML file in, cells on all cores, tables and figures out."""
