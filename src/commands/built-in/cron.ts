/**
 * The built-in command for scheduled jobs. Its code is loaded with the first one.
 */
import { defineCommand } from '../command.ts'
import type { JobServices } from '../jobs.ts'

export const cronCommand = defineCommand({
  name: 'cron',
  aliases: ['jobs'],
  description: 'List and schedule jobs',
  argsHint: '[add <schedule> | <prompt>, show, edit, pause, resume, run, stop, remove <job>]',
  run: async (context, jobs: JobServices) => (await import('./cron-actions.ts')).cron(context, jobs),
})
