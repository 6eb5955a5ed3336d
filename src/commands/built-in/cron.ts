/**
 * The built-in command for scheduled jobs. Its code is loaded with the first one.
 */
import type { CommandDefinition } from '../command.ts'

export const cronCommand: CommandDefinition = {
  name: 'cron',
  aliases: ['jobs'],
  description: 'List and schedule jobs',
  argsHint: '[add <schedule> | <prompt>, show, edit, pause, resume, run, stop, remove <job>]',
  queue: 'control',
  run: async (context, services) => (await import('./cron-actions.ts')).cron(context, services),
}
