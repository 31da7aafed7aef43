"""Reports: figures as text, pages and pictures."""
