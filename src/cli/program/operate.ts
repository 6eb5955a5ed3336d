/**
 * Defines the commands that operate an installation.
 */
import { type Command, Option } from 'commander'
import { logLevels } from '../../lib/log-files.ts'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, parseLimit, run } from './options.ts'

export function addOperateCommands(root: Command, context: CliContext): void {
  root.commandsGroup('Operate:')
  addServiceCommands(root, context)
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

function addServiceCommands(root: Command, context: CliContext): void {
  const service = createGroup(root, 'service', 'the gateway as a service that starts with the machine')
  const load = () => import('../service.ts')
  service
    .command('install')
    .summary('start the gateway with the machine, and again after a failure')
    .description(
      'Writes a user service of systemd, or an agent of launchd, for the home of the selected profile, enables it and starts it. A second call repairs what has changed: after an upgrade of Node or a move of the installation, call it again. Keys belong into .env of the home: a service knows nothing of your shell.',
    )
    .option('--print', 'print the file, and change nothing', false)
    .option('--no-start', 'do not start it now')
    .action(run(context, async () => (await load()).serviceInstall))
  service
    .command('uninstall')
    .description('stop the service and remove it; the home stays as it is')
    .action(run(context, async () => (await load()).serviceUninstall))
  service
    .command('status')
    .description('show whether the service runs and starts by itself; exit code 3 when it does not run')
    .option(...json)
    .action(run(context, async () => (await load()).serviceStatus))
  service
    .command('logs')
    .summary('show what the service printed')
    .description(
      'Shows what the service manager has kept of the output, such as a failed start. `hermes logs` shows the log of the gateway.',
    )
    .option('-f, --follow', 'print new lines until Ctrl-C', false)
    .option('-n, --lines <number>', 'maximum number of lines', parseLimit('--lines'), 100)
    .action(run(context, async () => (await load()).serviceLogs))
}
