/**
 * Defines the commands for webhooks.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, run } from './options.ts'

export function addWebhookCommands(root: Command, context: CliContext): void {
  const webhook = createGroup(root, 'webhook', 'events of other services')
  webhook
    .command('list')
    .alias('ls')
    .description('list the routes')
    .option(...json)
    .action(run(context, async () => (await import('../webhook.ts')).webhookList))
  webhook
    .command('add <name>')
    .alias('subscribe')
    .summary('receive events at /webhooks/<name>')
    .description(
      'Receives events at /webhooks/<name>. Prints the address and the secret for the settings of the service. A running gateway needs no restart.',
    )
    .option('--events <types>', 'the event types, with commas between them; all if omitted')
    .option('--prompt <template>', 'the message for the agent, with values of the event such as {issue.title}')
    .option('--description <text>', 'what the route is for')
    .option('--skills <names>', 'skills to load, with commas between them')
    .option('--deliver <target>', 'the chats of the answer, with commas between them; log if omitted')
    .option('--deliver-chat-id <id>', 'the id of the chat, if --deliver names a platform')
    .option('--deliver-only', 'send the prompt to the chat without the agent')
    .option('--cron-job <job>', 'run this scheduled job, which gets the prompt')
    .option('--script <path>', 'a file in scripts/ of the home, which changes or ignores events')
    .option('--secret <text>', 'the secret; a random one if omitted')
    .option(...json)
    .action(run(context, async () => (await import('../webhook.ts')).webhookAdd))
  webhook
    .command('remove <name>')
    .alias('rm')
    .description('remove a route that `add` has made')
    .action(run(context, async () => (await import('../webhook.ts')).webhookRemove))
  webhook
    .command('test <name>')
    .description('send a signed event to the running gateway')
    .option('--payload <json>', 'the event')
    .action(run(context, async () => (await import('../webhook.ts')).webhookTest))
}
