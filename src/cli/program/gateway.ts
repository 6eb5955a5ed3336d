/**
 * Defines the commands that run, stop and pause the gateway.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, run } from './options.ts'

export function addGatewayCommands(root: Command, context: CliContext): void {
  root.commandsGroup('The gateway:')
  const gateway = createGroup(root, 'gateway', 'run, inspect and stop the daemon')
  gateway
    .command('run')
    .summary('run the daemon in the foreground')
    .description(
      'Runs the daemon in the foreground. SIGTERM or Ctrl-C stops it gracefully, a second signal at once. SIGHUP reloads the configuration, SIGUSR1 restarts the daemon.',
    )
    .option('--strict', 'exit with code 78 when the configuration is invalid', false)
    .option('--accept-hooks', 'run the programs under `hooks` of config.yaml without consent', false)
    .option('--quiet', 'write the log to logs/ of the home only', false)
    .action(run(context, async () => (await import('../gateway-run.ts')).gatewayRun))
  addStatusCommand(gateway, context)
  gateway
    .command('stop')
    .description('stop the running daemon and wait until it has exited')
    .action(run(context, async () => (await import('../gateway-stop.ts')).gatewayStop))
  gateway
    .command('restart')
    .description('restart the running daemon and wait until it is ready; nothing is lost')
    .action(run(context, async () => (await import('../gateway-restart.ts')).gatewayRestart))
  addPauseCommand(root, context)
}

function addPauseCommand(root: Command, context: CliContext): void {
  root
    .command('pause [reason...]')
    .summary('pause the agent; `hermes pause off` ends the pause')
    .description(
      'Pauses the agent for everybody, also over restarts: messages are accepted and wait, running turns stop at their next step, and commands still work. `hermes pause off` ends the pause.',
    )
    .action(run(context, async () => (await import('../pause.ts')).pause))
}

export function addStatusCommand(parent: Command, context: CliContext): void {
  parent
    .command('status')
    .summary('show the state of the gateway and what needs your attention')
    .description(
      'Shows the state of the daemon, what is degraded, and what needs your attention. Exit code 3 when no gateway is running.',
    )
    .option(...json)
    .action(run(context, async () => (await import('../status.ts')).status))
}
