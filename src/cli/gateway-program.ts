/**
 * The part of the command line that starts the daemon.
 */
import type { Command } from 'commander'
import type { CliContext } from './kit/context.ts'
import { createRoot } from './kit/help.ts'
import { addGatewayCommands } from './program/gateway.ts'
import { commandsOf } from './program/options.ts'

export function buildGatewayProgram(context: CliContext): Command {
  const root = createRoot(context)
  const commands = commandsOf(root, context)
  addGatewayCommands(commands)
  return root
}
