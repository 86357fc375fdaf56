"""What a table and its release are worth and risk: profiles, risk, workloads."""
