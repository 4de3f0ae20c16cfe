"""Speaking to language models over HTTP: one client, one error mapping, one retry, one limit policy for all vendors."""
