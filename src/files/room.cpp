namespace cairn {}
