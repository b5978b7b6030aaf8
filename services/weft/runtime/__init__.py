"""What every process of weft runs on: settings, requests, replicas, pools, health, logs."""
