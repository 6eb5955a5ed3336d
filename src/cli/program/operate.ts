/**
 * Defines the commands that operate an installation.
 */
import { Argument, Option } from 'commander'
import { logLevels } from '../../lib/log-files.ts'
import type { Shell } from '../completion/scripts.ts'
import { type Commands, json, maxResults, parseCount } from './options.ts'

const shells: readonly Shell[] = ['bash', 'zsh', 'fish']

export function addOperateCommands(root: Commands): void {
  root.command.commandsGroup('Operate:')
  addServiceCommands(root)
  addLogsCommand(root)
  addBackupCommands(root)
  addUpdateCommand(root)
  addCompletionCommand(root)
}

function addLogsCommand(root: Commands): void {
  root
    .add(() => import('../logs.ts'), 'logs', 'logs', 'show the log of the gateway')
    .description(
      'Shows the newest lines of the log, over its rotated files. It needs no running gateway. Secrets were removed before the lines were written.',
    )
    .option('-f, --follow', 'print new lines until Ctrl-C', false)
    .option(
      '-n, --lines <number>',
      'maximum number of lines that were written before',
      parseCount('--lines', maxResults),
      100,
    )
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
}

function addServiceCommands(root: Commands): void {
  const service = root
    .group('service', 'the gateway as a service that starts with the machine')
    .from(() => import('../service.ts'))
  service
    .add('install', 'serviceInstall', 'start the gateway with the machine, and again after a failure')
    .description(
      'Writes a user service of systemd, or an agent of launchd, for the home of the selected profile, enables it and starts it. A second call repairs what has changed: after an upgrade of Node or a move of the installation, call it again. Keys belong into .env of the home: a service knows nothing of your shell.',
    )
    .option('--print', 'print the file, and change nothing', false)
    .option('--no-start', 'do not start it now')
  service.add('uninstall', 'serviceUninstall', 'stop the service and remove it; the home stays as it is')
  service.add(
    'status',
    'serviceStatus',
    'show whether the service runs and starts by itself; exit code 3 when it does not run',
    json,
  )
  service
    .add('logs', 'serviceLogs', 'show what the service printed')
    .description(
      'Shows what the service manager has kept of the output, such as a failed start. `hermes logs` shows the log of the gateway.',
    )
    .option('-f, --follow', 'print new lines until Ctrl-C', false)
    .option('-n, --lines <number>', 'maximum number of lines', parseCount('--lines', maxResults), 100)
}

function addBackupCommands(root: Commands): void {
  root
    .from(() => import('../backup.ts'))
    .add('backup', 'backup', 'write a backup of the home, while the gateway may run', json)
    .description(
      'Writes the conversations, the settings and the extensions of the selected profile to an archive (.tar.gz), and reads it back. Media, and keys and tokens, are left out unless they are asked for. So are the workspace, the log and what can be made again.',
    )
    .option('--to <path>', 'a new file, or a folder; `backups` of the home if left out')
    .option('--with-media', 'also the attachments of messages', false)
    .option('--with-secrets', 'also keys, tokens and logins', false)
  root
    .from(() => import('../restore.ts'))
    .add('restore <file>', 'restore', 'replace the content of the home by a backup, while the gateway is stopped', json)
    .description(
      'Checks every file of a backup, and replaces the content of the home of the selected profile by it. What was there before is kept in `before-restore`. A restore that is interrupted is finished, or undone, by the next start.',
    )
    .option('--check', 'check the backup, and change nothing', false)
    .option('--yes', 'do not ask', false)
}

function addCompletionCommand(root: Commands): void {
  root
    .from(() => import('../completion.ts'))
    .add('completion', 'completion', 'print a script that completes commands and options with Tab')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  echo 'eval "$(hermes completion bash)"' >> ~/.bashrc
  echo 'source <(hermes completion zsh)' >> ~/.zshrc       below the line with compinit
  hermes completion fish > ~/.config/fish/completions/hermes.fish`,
    )
}

function addUpdateCommand(root: Commands): void {
  root
    .from(() => import('../update.ts'))
    .add('update', 'update', 'install another version by npm, after a backup')
    .description(
      'Shows what is new, asks, writes a backup, installs the version, and restarts the gateway if it runs. A version that does not start is replaced by the one before. It says how to go back later.',
    )
    .option('--check', 'show what is new, and change nothing', false)
    .option('--to <version>', 'this version, also an older one; the newest if left out')
    .option('--yes', 'do not ask', false)
}
