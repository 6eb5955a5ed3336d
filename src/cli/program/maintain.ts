/**
 * Defines the commands that inspect and maintain a home.
 */
import {
  addAuthCommands,
  addFallbackCommands,
  addMemoryCommands,
  addModelCommands,
  addPromptCommand,
  addSkillCommands,
  addToolCommands,
} from './agent.ts'
import { addCheckpointCommands } from './checkpoints.ts'
import { addCronCommands } from './cron.ts'
import { addHookCommands, addPlatformCommand, addPluginCommands } from './extensions.ts'
import { addStatusCommand } from './gateway.ts'
import { addImportCommand } from './import.ts'
import { addMcpCommands } from './mcp.ts'
import { type Commands, json, limit, parseNumber } from './options.ts'
import { addApprovalCommands, addPairingCommands, addProfileCommands } from './people.ts'
import { addWebhookCommands } from './webhook.ts'

export function addInspectCommands(root: Commands): void {
  root.command.commandsGroup('Inspect:')
  addStatusCommand(root)
  root
    .add(() => import('../doctor.ts'), 'doctor', 'doctor', 'check everything the gateway needs')
    .description(
      'Checks everything the gateway needs and suggests a fix for each problem. Exit code 1 when there is a problem. `--fix` corrects the rights of files, creates the work folder and removes what killed processes have left; it says what it will do first.',
    )
    .option('--offline', 'do not connect to the model or the platforms', false)
    .option('--fix', 'fix what can be fixed, and check again', false)
    .option('--yes', 'do not ask before that', false)
    .option(...json)
  addPromptCommand(root)
  const sessions = root.group('sessions', 'stored conversations').from(() => import('../sessions.ts'))
  sessions
    .add('list', 'sessionsList', 'list the newest conversations')
    .option(...limit)
    .option(...json)
  sessions.add('show <session>', 'sessionsShow', 'show a conversation by its id or its key', json)
  sessions
    .add('search <words...>', 'sessionsSearch', 'find messages that contain all words, best match first')
    .option(...limit)
    .option(...json)
  root
    .add(() => import('../trace.ts'), 'trace', 'trace', 'show where a message is, and how it came there', json)
    .description(
      'Shows when a message was sent, accepted and claimed, each call of the model and of a tool, each question and each reply on its way, with the time that they took. Works while the gateway is stopped, too. Finished messages are kept for `retention.days`.',
    )
    .argument('<message>', 'number of a message, id of a turn (thirteen characters suffice), or "last"')
}

export function addMaintainCommands(root: Commands): void {
  root.command.commandsGroup('Maintain:')
  addConfigCommands(root)
  addImportCommand(root)
  addProfileCommands(root)
  addModelCommands(root)
  addAuthCommands(root)
  addFallbackCommands(root)
  addToolCommands(root)
  addMemoryCommands(root)
  addCheckpointCommands(root)
  addApprovalCommands(root)
  addPairingCommands(root)
  const accepted = root.group('inbox', 'accepted messages: dead letters, and how each one ended')
  const inbox = accepted.from(() => import('../inbox.ts'))
  inbox.add('list', 'inboxList', 'list dead letters, and messages that are not processed yet', json)
  inbox
    .add('retry', 'inboxRetry', 'process a dead letter again')
    .argument('<number>', 'number in the list', parseNumber)
  inbox.add('drop', 'inboxDrop', 'delete a dead letter').argument('<number>', 'number in the list', parseNumber)
  accepted
    .add(() => import('../inbox-audit.ts'), 'audit', 'inboxAudit', 'check how every accepted message has ended')
    .description(
      'Counts how accepted messages ended (answered, failed with a notice, intentionally silent, or absorbed into a turn that did), and lists those that wait with the reason. Exit code 1 when a message is not accounted for. Finished messages are kept for `retention.days`.',
    )
    .option('--since <time>', 'only messages accepted since then: 30m, 12h, 7d, or a date')
    .option(...json)
  const outbox = root
    .group('outbox', 'dead letters: replies that could not be delivered')
    .from(() => import('../outbox.ts'))
  outbox.add('list', 'outboxList', 'list dead letters with their reasons', json)
  outbox.add('retry', 'outboxRetry', 'send a dead letter again').argument('<number>', 'number in the list', parseNumber)
  outbox.add('drop', 'outboxDrop', 'delete a dead letter').argument('<number>', 'number in the list', parseNumber)
  addHookCommands(root)
  addPluginCommands(root)
  addSkillCommands(root)
  addCronCommands(root)
  addWebhookCommands(root)
  addMcpCommands(root)
  addPlatformCommand(root)
  root.command.commandsGroup('More:')
  root.command
    .command('version')
    .description('print the version')
    .action(() => {
      root.context.output.write(`${root.context.version}\n`)
    })
}

function addConfigCommands(root: Commands): void {
  const config = root
    .group('config', 'the configuration: config.yaml and .env of the home')
    .from(() => import('../config.ts'))
  config.add(
    'check',
    'configCheck',
    'list problems and warnings with file, line and column; exit code 78 when there is a problem',
    json,
  )
  config.add('path', 'configPath', 'print the path of config.yaml')
  config.add('show', 'configShow', 'show all values in effect and their origin; secrets are hidden', json)
  config.add('schema', 'configSchema', 'print the JSON Schema of config.yaml, for editors')
}
