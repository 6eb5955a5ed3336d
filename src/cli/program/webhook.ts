/**
 * Defines the commands for webhooks.
 */
import { type Commands, json } from './options.ts'

export function addWebhookCommands(root: Commands): void {
  const webhook = root.group('webhook', 'events of other services').from(() => import('../webhook.ts'))
  webhook.add('list', 'webhookList', 'list the routes', json).alias('ls')
  webhook
    .add('add <name>', 'webhookAdd', 'receive events at /webhooks/<name>')
    .alias('subscribe')
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
  webhook.add('remove <name>', 'webhookRemove', 'remove a route that `add` has made').alias('rm')
  webhook
    .add('test <name>', 'webhookTest', 'send a signed event to the running gateway')
    .option('--payload <json>', 'the event')
}
