/**
 * Defines the commands that inspect and maintain a home.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
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
import { json, limit, parseNumber, run } from './options.ts'
import { addApprovalCommands, addPairingCommands, addProfileCommands } from './people.ts'
import { addWebhookCommands } from './webhook.ts'

export function addInspectCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Inspect:')
  addStatusCommand(root, context)
  root
    .command('doctor')
    .summary('check everything the gateway needs')
    .description(
      'Checks everything the gateway needs and suggests a fix for each problem. Exit code 1 when there is a problem.',
    )
    .option('--offline', 'do not connect to the model or the platforms', false)
    .option(...json)
    .action(run(context, async () => (await import('../doctor.ts')).doctor))
  addPromptCommand(root, context)
  const sessions = createGroup(root, 'sessions', 'stored conversations')
  sessions
    .command('list')
    .description('list the newest conversations')
    .option(...limit)
    .option(...json)
    .action(run(context, async () => (await import('../sessions.ts')).sessionsList))
  sessions
    .command('show <session>')
    .description('show a conversation by its id or its key')
    .option(...json)
    .action(run(context, async () => (await import('../sessions.ts')).sessionsShow))
  sessions
    .command('search <words...>')
    .description('find messages that contain all words, best match first')
    .option(...limit)
    .option(...json)
    .action(run(context, async () => (await import('../sessions.ts')).sessionsSearch))
  root
    .command('trace')
    .summary('show where a message is, and how it came there')
    .description(
      'Shows when a message was sent, accepted and claimed, each call of the model and of a tool, each question and each reply on its way, with the time that they took. Works while the gateway is stopped, too. Finished messages are kept for `retention.days`.',
    )
    .argument('<message>', 'number of a message, id of a turn (eight characters suffice), or "last"')
    .option(...json)
    .action(run(context, async () => (await import('../trace.ts')).trace))
}

export function addMaintainCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Maintain:')
  addConfigCommands(root, context)
  addImportCommand(root, context)
  addProfileCommands(root, context)
  addModelCommands(root, context)
  addAuthCommands(root, context)
  addFallbackCommands(root, context)
  addToolCommands(root, context)
  addMemoryCommands(root, context)
  addCheckpointCommands(root, context)
  addApprovalCommands(root, context)
  addPairingCommands(root, context)
  const inbox = createGroup(root, 'inbox', 'accepted messages: dead letters, and how each one ended')
  inbox
    .command('list')
    .description('list dead letters, and messages that are not processed yet')
    .option(...json)
    .action(run(context, async () => (await import('../inbox.ts')).inboxList))
  inbox
    .command('retry')
    .description('process a dead letter again')
    .argument('<number>', 'number in the list', parseNumber)
    .action(run(context, async () => (await import('../inbox.ts')).inboxRetry))
  inbox
    .command('drop')
    .description('delete a dead letter')
    .argument('<number>', 'number in the list', parseNumber)
    .action(run(context, async () => (await import('../inbox.ts')).inboxDrop))
  inbox
    .command('audit')
    .summary('check how every accepted message has ended')
    .description(
      'Counts how accepted messages ended (answered, failed with a notice, intentionally silent, or absorbed into a turn that did), and lists those that wait with the reason. Exit code 1 when a message is not accounted for. Finished messages are kept for `retention.days`.',
    )
    .option('--since <time>', 'only messages accepted since then: 30m, 12h, 7d, or a date')
    .option(...json)
    .action(run(context, async () => (await import('../inbox-audit.ts')).inboxAudit))
  const outbox = createGroup(root, 'outbox', 'dead letters: replies that could not be delivered')
  outbox
    .command('list')
    .description('list dead letters with their reasons')
    .option(...json)
    .action(run(context, async () => (await import('../outbox.ts')).outboxList))
  outbox
    .command('retry')
    .description('send a dead letter again')
    .argument('<number>', 'number in the list', parseNumber)
    .action(run(context, async () => (await import('../outbox.ts')).outboxRetry))
  outbox
    .command('drop')
    .description('delete a dead letter')
    .argument('<number>', 'number in the list', parseNumber)
    .action(run(context, async () => (await import('../outbox.ts')).outboxDrop))
  addHookCommands(root, context)
  addPluginCommands(root, context)
  addSkillCommands(root, context)
  addCronCommands(root, context)
  addWebhookCommands(root, context)
  addMcpCommands(root, context)
  addPlatformCommand(root, context)
  root.commandsGroup('More:')
  root
    .command('version')
    .description('print the version')
    .action(() => {
      context.output.write(`${context.version}\n`)
    })
}

function addConfigCommands(root: Command, context: CliContext): void {
  const config = createGroup(root, 'config', 'the configuration: config.yaml and .env of the home')
  config
    .command('check')
    .description('list problems and warnings with file, line and column; exit code 78 when there is a problem')
    .option(...json)
    .action(run(context, async () => (await import('../config.ts')).configCheck))
  config
    .command('path')
    .description('print the path of config.yaml')
    .action(run(context, async () => (await import('../config.ts')).configPath))
  config
    .command('show')
    .description('show all values in effect and their origin; secrets are hidden')
    .option(...json)
    .action(run(context, async () => (await import('../config.ts')).configShow))
  config
    .command('schema')
    .description('print the JSON Schema of config.yaml, for editors')
    .action(run(context, async () => (await import('../config.ts')).configSchema))
}
