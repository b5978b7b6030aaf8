"""One upstream server: its life, what it offers, what it is subscribed to."""
