"""Tools of other frameworks, put behind the door as functions of the host."""
