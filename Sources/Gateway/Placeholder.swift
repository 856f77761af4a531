// Replaced by the first part of this target.
