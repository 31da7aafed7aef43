"""The files of mu-Argus: metadata, fixed and free format."""
