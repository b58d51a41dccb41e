"""The Rust lane of Holon: governed source to proven binary."""
