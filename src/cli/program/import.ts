/**
 * Defines the command that takes over the home of another program.
 */
import { type Commands, json } from './options.ts'

const description = `Takes over what a home of Hermes Agent or OpenClaw contains: settings, keys, people with access, the persona, memories, skills, scheduled jobs; from Hermes Agent also hooks, plugins and conversations.

The other home is only read, also while its program runs. What this home has already stays: a difference is reported, and taken with --overwrite. A second run takes what has been added since. Every line of the report says what was taken, changed or left, and why; it contains no secrets.

Without a path: ~/.hermes; $OPENCLAW_STATE_DIR, ~/.openclaw or ~/.clawdbot; with --profile the home of that profile. This home must be another one: set HERMES_HOME, or use a profile.`

const examples = `
Examples:
  hermes import hermes --dry-run                show what would be taken
  HERMES_HOME=~/.hermes-gateway hermes import hermes
  hermes import openclaw /mnt/backup/.openclaw
  hermes --profile work import hermes ~/.hermes/profiles/work

Exit code 1 when something could not be read or written.`

export function addImportCommand(root: Commands): void {
  root
    .from(() => import('../import/import-home.ts'))
    .add('import', 'importCommand', 'take over a home of Hermes Agent or OpenClaw')
    .argument('<program>', 'hermes or openclaw')
    .argument('[path]', 'the home of that program')
    .description(description)
    .option('--dry-run', 'write nothing, and show what would be done', false)
    .option('--overwrite', 'replace what is different here', false)
    .option(...json)
    .addHelpText('after', examples)
}
