"""What an organization manages, described by data and shown by one browser: people, teams, sites, access, settings."""
