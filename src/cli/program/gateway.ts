/**
 * Defines the commands that run, stop and pause the gateway.
 */
import { type Commands, json } from './options.ts'

export function addGatewayCommands(root: Commands): void {
  root.command.commandsGroup('The gateway:')
  const gateway = root.group('gateway', 'run, inspect and stop the daemon')
  gateway
    .add(() => import('../gateway-run.ts'), 'run', 'gatewayRun', 'run the daemon in the foreground')
    .description(
      'Runs the daemon in the foreground. SIGTERM or Ctrl-C stops it gracefully, a second signal at once. SIGHUP reloads the configuration, SIGUSR1 restarts the daemon.',
    )
    .option('--strict', 'exit with code 78 when the configuration is invalid', false)
    .option('--accept-hooks', 'run the programs under `hooks` of config.yaml without consent', false)
    .option('--quiet', 'write the log to logs/ of the home only', false)
  addStatusCommand(gateway)
  gateway
    .from(() => import('../gateway-stop.ts'))
    .add('stop', 'gatewayStop', 'stop the running daemon and wait until it has exited')
  gateway
    .from(() => import('../gateway-restart.ts'))
    .add('restart', 'gatewayRestart', 'restart the running daemon and wait until it is ready; nothing is lost')
  addPauseCommand(root)
}

function addPauseCommand(root: Commands): void {
  root
    .from(() => import('../pause.ts'))
    .add('pause [reason...]', 'pause', 'pause the agent; `hermes pause off` ends the pause')
    .description(
      'Pauses the agent for everybody, also over restarts: messages are accepted and wait, running turns stop at their next step, and commands still work. `hermes pause off` ends the pause.',
    )
}

export function addStatusCommand(parent: Commands): void {
  parent
    .from(() => import('../status.ts'))
    .add('status', 'status', 'show the state of the gateway and what needs your attention', json)
    .description(
      'Shows the state of the daemon, what is degraded, and what needs your attention. Exit code 3 when no gateway is running.',
    )
}
