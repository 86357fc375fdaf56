"""What tests share: oracles, papers, servers, commands."""
