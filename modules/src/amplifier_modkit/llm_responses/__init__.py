"""How requests and answers of the Responses API read, for every service that offers it."""
