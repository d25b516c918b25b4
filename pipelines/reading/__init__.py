"""From files to loaded blocks: splitting, decompressing, finding lines, normalising."""
