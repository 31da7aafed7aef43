"""What every room uses: checks of arguments, warnings, HTML."""
