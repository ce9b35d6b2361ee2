package servers

// Migrations: moves of servers between hosts, in the words of the original.

// MigrationType is what kind of move a migration is.
type MigrationType string

// Types of migration.
const (
	Migrate       MigrationType = "migration"
	Resize        MigrationType = "resize"
	LiveMigration MigrationType = "live-migration"
	Evacuation    MigrationType = "evacuation"
)

// MigrationStatus is how far a migration has come.
type MigrationStatus string

// Statuses of migrations. Those from MigrationConfirmed on are final.
const (
	MigrationAccepted      MigrationStatus = "accepted"
	MigrationQueued        MigrationStatus = "queued"
	MigrationPreparing     MigrationStatus = "preparing"
	MigrationRunning       MigrationStatus = "running"
	MigrationPreMigrating  MigrationStatus = "pre-migrating"
	MigrationMigrating     MigrationStatus = "migrating"
	MigrationPostMigrating MigrationStatus = "post-migrating"
	// MigrationFinished is a resize that waits to be confirmed or reverted.
	MigrationFinished   MigrationStatus = "finished"
	MigrationConfirming MigrationStatus = "confirming"
	MigrationReverting  MigrationStatus = "reverting"

	MigrationConfirmed MigrationStatus = "confirmed"
	MigrationReverted  MigrationStatus = "reverted"
	MigrationError     MigrationStatus = "error"
	MigrationFailed    MigrationStatus = "failed"
	MigrationCancelled MigrationStatus = "cancelled"
	MigrationCompleted MigrationStatus = "completed"
	// MigrationDone is an evacuation that is over.
	MigrationDone MigrationStatus = "done"
)
