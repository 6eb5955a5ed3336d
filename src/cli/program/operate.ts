/**
 * Defines the commands that operate an installation.
 */
import { type Command, Option } from 'commander'
import { logLevels } from '../../lib/log-files.ts'
import type { CliContext } from '../kit/context.ts'
import { parseLimit, run } from './options.ts'

export function addOperateCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Operate:')
  addLogsCommand(root, context)
}

function addLogsCommand(root: Command, context: CliContext): void {
  root
    .command('logs')
    .summary('show the log of the gateway')
    .description(
      'Shows the newest lines of the log, over its rotated files. It needs no running gateway. Secrets were removed before the lines were written.',
    )
    .option('-f, --follow', 'print new lines until Ctrl-C', false)
    .option('-n, --lines <number>', 'maximum number of lines that were written before', parseLimit('--lines'), 100)
    .addOption(new Option('--level <level>', 'only lines of this level or a higher one').choices(logLevels))
    .option('--event <name>', 'only lines of this event, such as turn.started; * at the end for all that begin so')
    .option('--session <session>', 'only lines of a conversation, by its id or its key')
    .option('--since <time>', 'only lines written since then: 30m, 12h, 7d, or a date')
    .option('--json', 'print the lines as they are stored, one JSON object each', false)
    .addHelpText(
      'after',
      `
Examples:
  hermes logs --level warn --since 12h          what went wrong since yesterday evening
  hermes logs --follow --event 'outbox.*'       watch replies being delivered`,
    )
    .action(run(context, async () => (await import('../logs.ts')).logs))
}
