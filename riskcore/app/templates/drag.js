"use strict";
// Dragging of breaks and categories; every drag changes a field that can be typed in.
