"""The log on a NATS server: its streams, and everything that publishes to them and reads them."""
