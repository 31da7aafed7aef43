"""The app: protect a file in the browser, on the own machine."""
